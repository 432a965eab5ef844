//! What an authorization server gives gateways in other processes.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::value::RawValue;
use sluice_commit::StoreError;
use sluice_crypto::{Purpose, Sealer};
use sluice_http::LinkSource;
use sluice_identity::session::{AccessTokenKeys, SessionService};
use sluice_oauth::access_token_reader::{AccessTokenReader, NotActive};
use sluice_oauth::keys::KeyRing;
use sluice_primitives::{Clock, Lifetime, NetworkId};
use sluice_token::link::{LinkKeys, TokenAnswer};
use sluice_token::{paseto, sealed};

use crate::app::hearing::Hearing;
use crate::app::identity_tokens::IdentityTokenKeys;

/// The keys that a gateway needs, and no others.
pub(crate) struct ServedKeys {
    pub(crate) network: NetworkId,
    pub(crate) issuer: String,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) ring: Arc<KeyRing>,
    pub(crate) persons: Arc<IdentityTokenKeys>,
    /// Whether gateways open sealed tokens themselves.
    pub(crate) gives_sealing_key: bool,
    pub(crate) longest_access_token: Lifetime,
    pub(crate) longest_person_token: Lifetime,
}

/// The link's side of a node.
pub(crate) struct Link {
    pub(crate) keys: ServedKeys,
    pub(crate) hearing: Arc<Hearing>,
    pub(crate) reader: Arc<AccessTokenReader>,
    pub(crate) sessions: Arc<SessionService>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ServedKeys {
    fn document(&self) -> LinkKeys {
        let empty =
            || serde_json::value::to_raw_value(&serde_json::json!({ "keys": [] })).unwrap_or_default();
        let given: &[Purpose] = if self.gives_sealing_key {
            &[Purpose::TokenFacts, Purpose::AccessToken]
        } else {
            &[Purpose::TokenFacts]
        };
        LinkKeys {
            network: self.network.to_string(),
            issuer: self.issuer.clone(),
            sealed: given.iter().map(|purpose| self.sealer.subkeys(*purpose)).collect(),
            jwks: RawValue::from_string(self.ring.signing_jwks().to_string()).unwrap_or_else(|_| empty()),
            persons: self.persons.public(),
            longest_access_token: u32::try_from(self.longest_access_token.as_secs()).ok(),
            longest_person_token: u32::try_from(self.longest_person_token.as_secs()).ok(),
        }
    }
}

#[async_trait]
impl LinkSource for Link {
    async fn keys(&self) -> Vec<u8> {
        self.hearing.settled().await;
        serde_json::to_vec(&self.keys.document()).unwrap_or_default()
    }

    fn check(&self, token: &str) -> Result<TokenAnswer, StoreError> {
        self.reader.check_knowledge()?;
        if token.starts_with(paseto::PREFIX) {
            let active = self.sessions.authenticate(token).is_ok();
            let payload = self.keys.persons.verify(token);
            let known = payload.is_some();
            let person = payload.filter(|_| active).and_then(|payload| String::from_utf8(payload).ok());
            return Ok(TokenAnswer { active, known, person, claims: None });
        }
        Ok(match self.reader.active(token, self.clock.now()) {
            Ok(claims) => {
                TokenAnswer { active: true, known: true, claims: Some(sealed::encode(&claims)), person: None }
            }
            Err(why) => {
                TokenAnswer { known: !matches!(why, NotActive::NotOurs(_)), ..TokenAnswer::default() }
            }
        })
    }
}
