//! Flags that say which server a verb talks to, and how.

use std::path::PathBuf;

use clap::Args;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::error::RemoteError;
use super::server::Server;
use super::tls;
use crate::cli::Console;
use crate::cli::value::Unrepeated;

/// Where the admin endpoint is, if nobody says otherwise, and who may say so: the most specific first.
const ADMIN: (&str, &[&str]) =
    ("http://127.0.0.1:4445", &["SLUICE_ADMIN_URL", "HYDRA_ADMIN_URL", "ORY_SDK_URL"]);
/// The same of the public endpoint.
const PUBLIC: (&str, &[&str]) =
    ("http://127.0.0.1:4444", &["SLUICE_PUBLIC_URL", "HYDRA_PUBLIC_URL", "ORY_SDK_URL"]);
/// Holds the credential of the admin endpoint. There is no flag: flags can be read in the list of processes.
const ADMIN_TOKEN: &str = "SLUICE_ADMIN_TOKEN";

/// Which server a verb talks to, and how.
#[derive(Clone, Args)]
pub(crate) struct ConnectionArgs {
    /// The server. Otherwise what the variable `SLUICE_ADMIN_URL`, `HYDRA_ADMIN_URL` or `ORY_SDK_URL` says, else
    /// `http://127.0.0.1:4445`; for `perform` and `revoke` what `SLUICE_PUBLIC_URL`, `HYDRA_PUBLIC_URL` or
    /// `ORY_SDK_URL` says, else `http://127.0.0.1:4444`
    #[arg(short, long, value_name = "URL", global = true, help_heading = "Server")]
    endpoint: Option<String>,
    /// Trust any certificate; for development
    #[arg(long, global = true, help_heading = "Server")]
    skip_tls_verify: bool,
    /// Trust the certificates of this PEM file as well
    #[arg(long, value_name = "FILE", global = true, help_heading = "Server")]
    ca_file: Option<PathBuf>,
    /// A header to send with each request; `Authorization` instead of `SLUICE_ADMIN_TOKEN`
    #[arg(short = 'H', long = "http-header", value_name = "NAME: VALUE", value_parser = Unrepeated(header), global = true, help_heading = "Server")]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ConnectionArgs {
    /// The admin endpoint, with the credential that the environment holds for it.
    pub(super) fn admin(&self, console: &Console<'_>) -> Result<Server, RemoteError> {
        let base = self.base(ADMIN, console)?;
        let mut headers = HeaderMap::new();
        if let Some(token) = console.first_variable(&[ADMIN_TOKEN]) {
            let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
                RemoteError::Usage(format!("{ADMIN_TOKEN} holds characters that cannot be sent"))
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        self.server(base, headers)
    }

    /// The public endpoint.
    pub(super) fn public(&self, console: &Console<'_>) -> Result<Server, RemoteError> {
        self.server(self.base(PUBLIC, console)?, HeaderMap::new())
    }

    fn base(&self, (default, variables): (&str, &[&str]), console: &Console<'_>) -> Result<Url, RemoteError> {
        let given = self.endpoint.clone().or_else(|| console.first_variable(variables));
        let text = given.as_deref().unwrap_or(default);
        endpoint(text).map_err(|reason| RemoteError::Usage(format!("the endpoint {reason}")))
    }

    /// What is given goes before what the environment holds under the same name.
    fn server(&self, base: Url, mut headers: HeaderMap) -> Result<Server, RemoteError> {
        for (name, _) in &self.headers {
            headers.remove(name);
        }
        headers.extend(self.headers.iter().cloned());
        let tls = tls::client_config(self.ca_file.as_deref(), self.skip_tls_verify)?;
        Server::new(base, headers, tls)
    }
}

fn endpoint(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "is not a URL")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("is neither http nor https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds credentials: send them with --http-header instead");
    }
    Ok(url)
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), &'static str> {
    let (name, value) = text.split_once(':').ok_or("must be written as 'Name: value'")?;
    let name = name.trim().parse().map_err(|_| "holds no valid name")?;
    let mut value: HeaderValue = value.trim().parse().map_err(|_| "holds no valid value")?;
    value.set_sensitive(true);
    Ok((name, value))
}
