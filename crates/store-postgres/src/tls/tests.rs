use std::path::PathBuf;

use rustls::pki_types::PrivateKeyDer;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConnection, ServerConfig, ServerConnection};
use sluice_commit::chain;

use super::*;

/// Of X.509 version 1, as `openssl x509 -req` makes it without extensions.
const VERSION_1: &str = "-----BEGIN CERTIFICATE-----
MIIBLzCB1QIUfH1bL6SDOlnpNPwoli40dDwhmB4wCgYIKoZIzj0EAwIwGTEXMBUG
A1UEAwwOZGIuZXhhbXBsZS5jb20wIBcNMjYxMTMwMTMyMTU0WhgPMjEyNjExMDYx
MzIxNTRaMBkxFzAVBgNVBAMMDmRiLmV4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEmoC645vkj01CzcJ1rzfEI0VOudeUvxjiKC02/mJv6P4FJQfr
ytVmvzktDJOcCfpuzs2M/8J1wHBOOc89plYH/DAKBggqhkjOPQQDAgNJADBGAiEA
47Xxg62jvUUMFk0gTgPFWmO7YPJXF4yszx9/exN04DwCIQDnzrJsfrQ5cT6Qr1Zr
M0gbYt3tnMEfl+WIOkzOpt9NpQ==
-----END CERTIFICATE-----
";
/// That of nobody: it was made for this test.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgUw5tW84PL2HsdypQ
91RB7YUX5FN+Fzm+bDk3i5WDP9uhRANCAASagLrjm+SPTULNwnWvN8QjRU6515S/
GOIoLTb+Ym/o/gUlB+vK1Wa/OS0Mk5wJ+m7OzYz/wnXAcE45zz2mVgf8
-----END PRIVATE KEY-----
";

/// What a client with this configuration makes of a server with that certificate.
fn handshake(client: ClientConfig) -> Result<(), Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let certificate = CertificateDer::from_pem_slice(VERSION_1.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let key = provider.key_provider.load_private_key(key).unwrap();
    let shown = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], key));
    let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let server = server.with_no_client_auth().with_cert_resolver(Arc::new(shown));
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    let name = ServerName::try_from("db.example.com").unwrap();
    let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
    while client.is_handshaking() {
        let (mut asked, mut answered) = (Vec::new(), Vec::new());
        client.write_tls(&mut asked).unwrap();
        server.read_tls(&mut asked.as_slice()).unwrap();
        server.process_new_packets().unwrap();
        while server.wants_write() {
            server.write_tls(&mut answered).unwrap();
        }
        let mut left = answered.as_slice();
        while !left.is_empty() {
            client.read_tls(&mut left).unwrap();
            client.process_new_packets()?;
        }
    }
    Ok(())
}

/// A file with this text, which goes with the test.
struct Authorities(PathBuf);

impl Authorities {
    fn of(name: &str, text: &str) -> Self {
        let file = std::env::temp_dir().join(format!("sluice-{}-{name}.pem", std::process::id()));
        std::fs::write(&file, text).unwrap();
        Self(file)
    }
}

impl Drop for Authorities {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

/// That the server has its key could not be told, also where nobody is verified.
#[test]
fn a_certificate_of_version_1_is_refused_whoever_is_verified() {
    let authorities = Authorities::of("version-1", VERSION_1);
    for verification in [Verification::None, Verification::Authority, Verification::Host] {
        let refused = handshake(configuration(verification, Some(&authorities.0)).unwrap()).unwrap_err();
        // By this word it is put in others: see `error`.
        assert!(refused.to_string().contains("UnsupportedCertVersion"), "{refused}");
    }
}

#[test]
fn a_file_without_a_certificate_is_refused_with_its_name() {
    let authorities = Authorities::of("empty", "");
    for verification in [Verification::Authority, Verification::Host] {
        let refused = configuration(verification, Some(&authorities.0)).unwrap_err();
        let told = chain(&refused);
        let expected = format!("sslrootcert {}: has no certificate", authorities.0.display());
        assert!(told.contains(&expected), "{told}");
    }
}
