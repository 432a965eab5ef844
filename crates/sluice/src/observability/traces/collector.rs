//! The way to the collector: requests of the SDK's thread, made by this process's runtime.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use rustls::{ClientConfig, RootCertStore};
use sluice_commit::chain;
use tokio::runtime::Handle;

use super::TracesError;
use super::losses::LastCause;

/// The collector has so long to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Makes the SDK's requests. It waits without a runtime of its own, and so does its thread.
#[derive(Debug)]
pub(super) struct Collector {
    client: reqwest::Client,
    runtime: Handle,
    cause: LastCause,
}

impl Collector {
    /// A client for the runtime that this is called in. It says here why a request comes to nothing.
    pub(super) fn new(cause: LastCause) -> Result<Self, TracesError> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls()?)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()?;
        Ok(Self { client, runtime: Handle::current(), cause })
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let client = self.client.clone();
        let sending = self.runtime.spawn(async move {
            let answer = client.execute(request).await?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            Ok::<_, reqwest::Error>((status, headers, answer.bytes().await?))
        });
        // Its address is in the configuration, and may have what nobody is to read.
        let (status, headers, body) = sending.await?.map_err(reqwest::Error::without_url)?;
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.send(request).await;
        if let Err(error) = &sent {
            self.cause.note(chain(&**error));
        }
        sent
    }
}

/// Trusts whom this machine trusts.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let config =
        ClientConfig::builder_with_provider(provider.into()).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
