//! What the benchmark cannot know of a server that it has started from this program: how its refresh tokens are sealed.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_bench::{Inside, RefreshTokens, StartedServer};
use sluice_commit::chain;
use sluice_crypto::Sealer;
use sluice_oauth::issuing::RefreshToken;
use sluice_primitives::{Clock, GrantId, OsRng, Rng, SystemClock};

use crate::app::{StartError, key_material, open_migrated};
use crate::config::{Mode, Settings, Sources, load};

/// Knows what servers of this program do, if they have its configuration.
pub(super) struct ThisProgram;

/// Tokens like one that was issued.
struct Like {
    sealer: Sealer,
    issued: RefreshToken,
}

#[async_trait(?Send)]
impl Inside for ThisProgram {
    async fn refresh_tokens(
        &self,
        server: &StartedServer,
        like: &str,
    ) -> Result<Box<dyn RefreshTokens>, String> {
        let sources = Sources {
            files: Vec::new(),
            environment: Vec::new(),
            overrides: server.settings.clone(),
            mode: Mode::Development,
            data_dir: server.folder.clone(),
        };
        let settings = load(&sources).map_err(|error| error.to_string())?.settings;
        let sealer = Box::pin(sealer(&settings, &sources)).await.map_err(|error| chain(&error))?;
        let issued = RefreshToken::open(like, &sealer).map_err(|error| error.to_string())?;
        Ok(Box::new(Like { sealer, issued }))
    }
}

impl RefreshTokens for Like {
    fn grant(&self) -> String {
        self.issued.grant.to_string()
    }

    fn of(&self, grant: &str) -> Option<String> {
        let grant: GrantId = grant.parse().ok()?;
        Some(RefreshToken { grant, ..self.issued.clone() }.seal(&self.sealer, &OsRng))
    }
}

/// What seals tokens at a server of these settings: its secret, and the network that its database names.
async fn sealer(settings: &Settings, sources: &Sources) -> Result<Sealer, StartError> {
    let (clock, rng): (Arc<dyn Clock>, Arc<dyn Rng>) = (Arc::new(SystemClock), Arc::new(OsRng));
    let secrets = key_material(settings, &sources.data_dir, &*rng)?;
    let stores = open_migrated(&settings.database, (&clock, &rng)).await?;
    let network = stores.network_id().await;
    stores.shutdown().await;
    Ok(secrets.in_flight(network?))
}

#[cfg(test)]
mod tests {
    use sluice_oauth::grant::Generation;
    use sluice_primitives::{NetworkId, Secret, Timestamp};

    use super::*;

    #[test]
    fn the_token_of_another_grant_is_the_same_but_for_that() {
        let sealer = Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"a secret".to_vec())]);
        let issued = RefreshToken {
            grant: GrantId::from_bytes([7; 16]),
            client: "c".parse().unwrap(),
            generation: Generation(3),
            expires_at: Timestamp::from_millis(9_000),
            confirmation: None,
        };
        let like = Like { sealer, issued: issued.clone() };
        let other = GrantId::from_bytes([8; 16]);
        let sealed = like.of(&other.to_string()).unwrap();
        let opened = RefreshToken::open(&sealed, &like.sealer).unwrap();
        assert_eq!(opened, RefreshToken { grant: other, ..issued });
        assert_eq!((like.grant(), like.of("nobody")), (GrantId::from_bytes([7; 16]).to_string(), None));
    }
}
