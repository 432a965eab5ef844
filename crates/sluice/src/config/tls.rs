//! `serve.public.tls`, `serve.admin.tls` and `serve.tls`, their common default; `serve.gateway.tls`, `serve.decisions.tls` and
//! `serve.link.tls`, which have none.

use std::path::PathBuf;

use ipnet::IpNet;

use super::key::{Key, Kind};
use super::reader::Reader;
use super::secret_string::SecretString;

/// Of `serve.tls` itself.
pub(super) const COMMON_SWITCH: &[Key] = &[Key::hydra(
    "enabled",
    Kind::Boolean,
    "Whether the public and the admin listener speak TLS. All of `serve.tls` is their default; for the gateway, the decisions \
     and the link it does not count.",
)];

/// Of a listener whose default is `serve.tls`.
pub(super) const SWITCH: &[Key] = &[Key::hydra(
    "enabled",
    Kind::Boolean,
    "Whether the listener speaks TLS; by default what `serve.tls` says, as for certificate and key.",
)];

/// Of a listener without such a default.
pub(super) const OWN_SWITCH: &[Key] = &[Key::hydra(
    "enabled",
    Kind::Boolean,
    "Whether the listener speaks TLS; `serve.tls` does not count here.",
)];

pub(super) const KEYS: &[Key] = &[
    Key::hydra("cert.path", Kind::Path, "The PEM file of the certificate chain."),
    Key::hydra("cert.base64", Kind::Text, "The PEM text of the certificate chain, in base64."),
    Key::hydra("key.path", Kind::Path, "The PEM file of the private key."),
    Key::hydra("key.base64", Kind::Secret, "The PEM text of the private key, in base64."),
    Key::own(
        FOLDER,
        Kind::Path,
        "A folder of further certificates, each shown to who asks for one of its names (SNI): `NAME.crt` with `NAME.key`, or a \
         folder with `fullchain.pem` and `privkey.pem`, or with `tls.crt` and `tls.key`. Of several for one name, that of `cert` among \
         them, that is shown which is valid already and expires last. All others are shown `cert`.",
    ),
    Key::hydra(
        "allow_termination_from",
        Kind::Networks,
        "The proxies that end TLS before a listener that speaks it: their plain http is accepted \
         with `X-Forwarded-Proto: https` or, without that header, `Forwarded` with `proto=https`.",
    ),
];

/// Where further certificates are.
const FOLDER: &str = "folder";

/// The proxies that end TLS.
pub(super) const TERMINATION: &str = "allow_termination_from";

/// The names that a listener takes together from `serve.tls`, or not at all.
pub(super) const GROUPS: &[&[&str]] =
    &[&["enabled"], &["cert.path", "cert.base64"], &["key.path", "key.base64"], &[FOLDER], &[TERMINATION]];

/// Of the link to gateways in other processes.
const LINK: &str = "serve.link.tls";

/// What certificates and their keys are made of.
const PAIR: &[&str] = &["cert.path", "cert.base64", "key.path", "key.base64", FOLDER];

/// Whether and how a listener speaks TLS.
#[derive(Debug, Clone)]
pub(crate) struct TlsSettings {
    /// `None`: plain http.
    pub(crate) certificate: Option<CertificateSettings>,
    /// Proxies whose plain http is accepted, if it says that it was https. Default: none.
    pub(crate) allow_termination_from: Vec<IpNet>,
}

/// A certificate and its key.
#[derive(Debug, Clone)]
pub(crate) struct CertificateSettings {
    pub(crate) chain: PemSource,
    pub(crate) private_key: PemSource,
    /// Where further ones are. Default: nowhere.
    pub(crate) folder: Option<PathBuf>,
    /// The keys that name them, for who has to mend one: those of `serve.tls` where they were written there.
    pub(crate) keys: String,
}

/// Where a PEM text is.
#[derive(Debug, Clone)]
pub(crate) enum PemSource {
    File(PathBuf),
    /// The PEM text in base64, with or without padding; not decoded yet.
    Base64(SecretString),
}

impl PemSource {
    /// The last part of the key that says so.
    const fn name(&self) -> &'static str {
        match self {
            Self::File(_) => "path",
            Self::Base64(_) => "base64",
        }
    }
}

/// Whether a certificate or a key was named, and nobody said whether it counts.
pub(super) fn is_passed_over(reader: &Reader<'_>, prefix: &str) -> bool {
    let is_set = |name: &str| reader.has(&format!("{prefix}.{name}"));
    PAIR.iter().any(|name| is_set(name)) && !is_set("enabled")
}

/// Reads the TLS settings below `prefix` (`serve.public.tls`).
pub(super) fn read(reader: &mut Reader<'_>, prefix: &str) -> TlsSettings {
    let enabled = reader.boolean(&format!("{prefix}.enabled"));
    let chain = read_pem(reader, &format!("{prefix}.cert"));
    let private_key = read_pem(reader, &format!("{prefix}.key"));
    let folder = reader.path(&format!("{prefix}.{FOLDER}"));
    if enabled && !reader.has(&format!("{prefix}.cert.path")) && !reader.has(&format!("{prefix}.cert.base64"))
    {
        reader.refuse(&format!("{prefix}.cert"), missing_chain(prefix));
    }
    if enabled && !reader.has(&format!("{prefix}.key.path")) && !reader.has(&format!("{prefix}.key.base64")) {
        reader.refuse(&format!("{prefix}.key"), "is required when TLS is enabled: set path or base64");
    }
    if is_passed_over(reader, prefix) {
        let message = "is not set: the certificate does not count, and this listener speaks plain http";
        reader.warn(&format!("{prefix}.enabled"), message);
    }
    let certificate = match (enabled, chain, private_key) {
        (true, Some(chain), Some(private_key)) => {
            let pair = [(&chain, "cert"), (&private_key, "key")];
            let mut keys = pair.map(|(source, name)| format!("{prefix}.{name}.{}", source.name())).to_vec();
            keys.extend(folder.is_some().then(|| format!("{prefix}.{FOLDER}")));
            let keys: Vec<_> = keys.iter().map(|key| reader.written_as(key)).collect();
            Some(CertificateSettings { keys: keys.join(" and "), chain, private_key, folder })
        }
        _ => None,
    };
    let allow_termination_from = reader.networks(&format!("{prefix}.allow_termination_from"));
    TlsSettings { certificate, allow_termination_from }
}

/// What is said where there is no certificate. One that is made at the start is none for the link: where others reach that, it must
/// have one that they can verify.
fn missing_chain(prefix: &str) -> &'static str {
    if prefix == LINK {
        "is required when TLS is enabled: set path or base64"
    } else {
        "is required when TLS is enabled: set path or base64; for development leave `enabled` out and start with \
         `--dev --tls-self-signed`, which makes one"
    }
}

/// Reads `serve.tls`, which the listeners inherit, only to refuse what is wrong with it where it was
/// written.
pub(super) fn check_common(reader: &mut Reader<'_>) {
    reader.boolean("serve.tls.enabled");
    read_pem(reader, "serve.tls.cert");
    read_pem(reader, "serve.tls.key");
    reader.path("serve.tls.folder");
    reader.networks("serve.tls.allow_termination_from");
}

fn read_pem(reader: &mut Reader<'_>, prefix: &str) -> Option<PemSource> {
    let path = reader.path(&format!("{prefix}.path"));
    let inline = reader.secret(&format!("{prefix}.base64"));
    match (path, inline) {
        (Some(_), Some(_)) => {
            reader.refuse(&format!("{prefix}.path"), "has a base64 beside it; set one of them");
            None
        }
        (Some(path), None) => Some(PemSource::File(path)),
        (None, inline) => inline.map(PemSource::Base64),
    }
}
