use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret};

use super::*;
use crate::client::fake::client;

#[derive(Default)]
struct Shelf(Mutex<Vec<ParkedFlow>>);

#[async_trait]
impl ParkedFlowRepository for Shelf {
    async fn park(&self, flow: ParkedFlow, _: u64) -> Result<bool, StoreError> {
        self.0.lock().push(flow);
        Ok(true)
    }

    async fn fetch(&self, handle: ParkedHandle, now: Timestamp) -> Result<Option<String>, StoreError> {
        let shelf = self.0.lock();
        let found = shelf.iter().find(|flow| flow.handle == handle && now < flow.expires_at);
        Ok(found.map(|flow| flow.sealed.clone()))
    }

    async fn purge_expired(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}

struct Given {
    flows: FlowSealer,
    clock: Arc<ManualClock>,
    shelf: Arc<Shelf>,
}

fn given() -> Given {
    let secret = Secret::new(b"a secret of tests".to_vec());
    let sealer = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[secret]));
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_800_000_000)));
    let shelf = Arc::new(Shelf::default());
    let sources = (Arc::new(OsRng) as _, Arc::clone(&clock) as _);
    let flows = FlowSealer::new(sealer, Arc::clone(&shelf) as _, sources, Lifetime::minutes(30), 100_000);
    Given { flows, clock, shelf }
}

#[tokio::test]
async fn a_pushed_request_is_parked_for_no_longer_than_its_uri_is_good() {
    let Given { flows, clock, shelf } = given();
    let (app, long, until) = (client("app"), "x".repeat(2_000), clock.now() + Lifetime::secs(60));
    let uri = flows.seal_pushed(&long, (&app, None), until).await.unwrap();
    assert_eq!(shelf.0.lock().iter().map(|flow| flow.expires_at).collect::<Vec<_>>(), [until]);
    assert_eq!(flows.open_pushed::<String>(&uri).await.unwrap(), long);
    clock.advance(Lifetime::secs(60));
    assert!(matches!(flows.open_pushed::<String>(&uri).await, Err(FlowError::Gone)));
}

#[tokio::test]
async fn no_client_fills_the_quota_of_all() {
    let Given { flows, clock, shelf } = given();
    let (app, long, until) = (client("app"), "x".repeat(2_000), clock.now() + Lifetime::secs(60));
    for last in 0..MOST_PARKED.1 {
        let address = Some(std::net::Ipv4Addr::from_bits(last).into());
        flows.seal_pushed(&long, (&app, address), until).await.unwrap();
    }
    let refused = flows.seal_pushed(&long, (&app, None), until).await;
    assert!(matches!(refused, Err(FlowError::QuotaReached)));
    flows.seal_pushed(&"short", (&app, None), until).await.unwrap();
    flows.seal_pushed(&long, (&client("other"), None), until).await.unwrap();
    assert_eq!(shelf.0.lock().len(), MOST_PARKED.1 as usize + 1);
    clock.advance(PARKED_WINDOW);
    flows.seal_pushed(&long, (&app, None), until).await.unwrap();
}
