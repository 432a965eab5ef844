//! How a client says who it is at the token and the revocation endpoint.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use reqwest::header::HeaderValue;
use sluice_primitives::Secret;
use url::Url;

use super::error::RemoteError;
use super::server::{Reply, Server};
use crate::cli::value;

/// The client that a verb acts as.
#[derive(Clone, Args)]
pub(crate) struct ClientCredentials {
    /// The id of the client
    #[arg(long, env = "OAUTH2_CLIENT_ID", value_name = "ID")]
    pub(super) client_id: String,
    /// The secret of the client, if it has one
    #[arg(
        long,
        env = "OAUTH2_CLIENT_SECRET",
        hide_env_values = true,
        value_name = "SECRET",
        allow_hyphen_values = true,
        value_parser = value::secret
    )]
    client_secret: Option<Secret<String>>,
}

impl ClientCredentials {
    pub(super) fn has_secret(&self) -> bool {
        self.secret().is_some()
    }

    /// Posts a form as this client: by HTTP Basic; in the form if the client may not use that; by its id alone if it
    /// has no secret.
    pub(super) async fn post(
        &self,
        server: &Server,
        url: Url,
        form: &[(&str, &str)],
    ) -> Result<Reply, RemoteError> {
        let mut with_id = form.to_vec();
        with_id.push(("client_id", &self.client_id));
        let Some(secret) = self.secret() else {
            return server.post_form(url, &with_id, None).await;
        };
        match server.post_form(url.clone(), form, Some(self.basic(secret)?)).await {
            Err(RemoteError::Refused(refusal)) if refusal.is("invalid_client") => {
                with_id.push(("client_secret", secret));
                server.post_form(url, &with_id, None).await
            }
            answer => answer,
        }
    }

    fn secret(&self) -> Option<&str> {
        let secret = self.client_secret.as_ref()?.expose();
        Some(secret.as_str()).filter(|secret| !secret.is_empty())
    }

    /// Id and secret are form-encoded before they are joined (RFC 6749 §2.3.1).
    fn basic(&self, secret: &str) -> Result<HeaderValue, RemoteError> {
        let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encoded(&self.client_id), encoded(secret));
        let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)))
            .map_err(|error| RemoteError::Setup(error.into()))?;
        value.set_sensitive(true);
        Ok(value)
    }
}
