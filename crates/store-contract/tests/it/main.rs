//! The fake keeps what every store promises.

use std::sync::Arc;

use sluice_primitives::GrantId;
use sluice_store_contract::memory::Held;
use sluice_store_contract::{Fixture, Limits, MemoryStore, store_contract};

struct MemoryFixture(Arc<MemoryStore>);

impl Fixture for MemoryFixture {
    type Store = MemoryStore;
    type Stall = Held;

    async fn start() -> Self {
        Self(Arc::new(MemoryStore::new()))
    }

    fn store(&self) -> Arc<MemoryStore> {
        self.0.clone()
    }

    async fn node_with(&self, limits: Limits) -> Arc<MemoryStore> {
        Arc::new(self.0.another_node(limits))
    }

    async fn stall(&self) -> Held {
        self.0.hold().await
    }

    async fn poison(&self, grant: GrantId) {
        self.0.poison(grant);
    }
}

store_contract!(MemoryFixture);
