//! What encryption takes: whom the system trusts, and the certificates of one more file.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use lettre::transport::smtp::client::{Certificate, TlsParameters};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use super::server_url::{Encryption, SmtpUrl};
use super::{SmtpError, StartTls};
use crate::fetch::certificates_in;

/// When connections to one server are encrypted, and what that takes.
pub(super) enum Tls {
    /// Never.
    Never,
    /// After `STARTTLS`, by the library.
    Later { is_required: bool, parameters: TlsParameters },
    /// From the first byte. The library would open such a connection by itself, where nobody counts what is read.
    AtOnce { connector: TlsConnector, name: ServerName<'static> },
}

/// Neither the library's parameters nor the connector print.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// A server that must use TLS needs a name that its certificate can have. Where TLS is optional the name may be another: the server
    /// may never offer it.
    pub(super) fn new(url: &SmtpUrl, extra_ca_file: Option<&Path>) -> Result<Self, SmtpError> {
        let extra = match extra_ca_file {
            Some(path) => certificates_in(path)
                .map_err(|source| SmtpError::ExtraCa { path: path.to_owned(), source })?,
            None => Vec::new(),
        };
        let name = || ServerName::try_from(url.host.clone()).map_err(|_| SmtpError::CertificateName);
        let made = match url.encryption {
            Encryption::StartTls(StartTls::Never) => Ok(Self::Never),
            Encryption::StartTls(StartTls::Optional) => Self::later(&url.host, false, extra),
            Encryption::StartTls(StartTls::Required) => {
                // The library looks at it in each handshake only.
                name()?;
                Self::later(&url.host, true, extra)
            }
            Encryption::Implicit => Self::at_once(name()?, extra),
        };
        made.map_err(SmtpError::SetupTls)
    }

    fn later(
        host: &str,
        is_required: bool,
        extra: Vec<CertificateDer<'static>>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut parameters = TlsParameters::builder(host.to_owned());
        for certificate in extra {
            parameters = parameters.add_root_certificate(Certificate::from_der(certificate.to_vec())?);
        }
        Ok(Self::Later { is_required, parameters: parameters.build_rustls()? })
    }

    /// As the library makes it.
    fn at_once(
        name: ServerName<'static>,
        extra: Vec<CertificateDer<'static>>,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for certificate in extra {
            roots.add(certificate)?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self::AtOnce { connector: TlsConnector::from(Arc::new(config)), name })
    }
}
