//! What comes back sealed: as text that this server may never have sealed, and, because a key may be lost one day or an
//! older version may have sealed it, as any content that opens.

use std::sync::Arc;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_crypto::{Purpose, Sealer};
use sluice_oauth::authorization::SessionCookie;
use sluice_oauth::authorization::code::AuthorizationCode;
use sluice_oauth::flow::{FlowSealer, ParkedFlow, ParkedFlowRepository, ParkedHandle};
use sluice_oauth::issuing::RefreshToken;
use sluice_primitives::{Lifetime, ManualClock, NetworkId, Secret, SeededRng, Timestamp};

const PURPOSES: [Purpose; 8] = [
    Purpose::LoginChallenge,
    Purpose::LoginVerifier,
    Purpose::ConsentChallenge,
    Purpose::ConsentVerifier,
    Purpose::AuthorizationCode,
    Purpose::RefreshToken,
    Purpose::SessionCookie,
    Purpose::ParkedFlow,
];

/// Keeps one flow, whatever it is asked for.
struct OneFlow(String);

#[async_trait]
impl ParkedFlowRepository for OneFlow {
    async fn park(&self, _: ParkedFlow, _: u64) -> Result<bool, StoreError> {
        Ok(true)
    }

    async fn fetch(&self, _: ParkedHandle, _: Timestamp) -> Result<Option<String>, StoreError> {
        Ok(Some(self.0.clone()))
    }

    async fn purge_expired(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// Presents the input as it is, and sealed for each purpose, to all that open something.
pub fn run(input: &[u8]) {
    let sealer = Arc::new(Sealer::new(
        NetworkId::from_bytes([7; 16]),
        &[Secret::new(b"a secret to fuzz with".to_vec())],
    ));
    let rng = SeededRng::new(1);
    if let Ok(text) = std::str::from_utf8(input) {
        open_all(&sealer, text, String::new());
        assert!(PURPOSES.iter().all(|purpose| sealer.open(*purpose, text).is_err()), "forged");
    }
    let parked = sealer.seal(Purpose::ParkedFlow, input, &rng);
    for purpose in PURPOSES {
        let sealed = sealer.seal(purpose, input, &rng);
        assert_eq!(sealer.open(purpose, &sealed).as_deref(), Ok(input));
        open_all(&sealer, &sealed, parked.clone());
    }
}

fn open_all(sealer: &Arc<Sealer>, sealed: &str, parked: String) {
    let rng = Arc::new(SeededRng::new(2));
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_800_000_000)));
    let parts = (Arc::clone(&rng) as _, clock as _);
    let flows =
        FlowSealer::new(Arc::clone(sealer), Arc::new(OneFlow(parked)), parts, Lifetime::minutes(30), 1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        if let Ok(flow) = flows.open_login_challenge(sealed).await {
            _ = flows.seal_login_challenge(&flow, (true, None)).await;
        }
        if let Ok(flow) = flows.open_login_verifier(sealed).await {
            _ = flows.seal_login_verifier(&flow).await;
        }
        if let Ok(flow) = flows.open_consent_challenge(sealed).await {
            _ = flows.seal_consent_challenge(&flow).await;
        }
        if let Ok(flow) = flows.open_consent_verifier(sealed).await {
            _ = flows.seal_consent_verifier(&flow).await;
        }
    });
    if let Ok(code) = AuthorizationCode::open(sealed, sealer) {
        assert_eq!(AuthorizationCode::open(&code.seal(sealer, &*rng), sealer), Ok(code));
    }
    if let Ok(token) = RefreshToken::open(sealed, sealer) {
        assert_eq!(RefreshToken::open(&token.seal(sealer, &*rng), sealer), Ok(token));
    }
    if let Some(cookie) = SessionCookie::open(sealed, sealer) {
        assert_eq!(SessionCookie::open(&cookie.seal(sealer, &*rng), sealer), Some(cookie));
    }
}
