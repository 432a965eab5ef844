//! Remembered decisions. They are stored with the grant they led to: see `grant/insert_with_more.sql`. [`find`]: the hot read.

pub(crate) mod find;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::consent::{ConsentRepository, Forget, RememberedConsent};
use sluice_primitives::Timestamp;
use sluice_protocol::{ClientId, Subject};

use crate::PostgresStore;
use crate::feed::append::Markers;
use crate::serial::Transaction;
use find::Wanted;

const FORGET_ONE: &str = include_str!("forget_one.sql");
const FORGET_ALL: &str = include_str!("forget_all.sql");

#[async_trait]
impl ConsentRepository for PostgresStore {
    async fn find(
        &self,
        subject: &Subject,
        client: &ClientId,
        now: Timestamp,
    ) -> Result<Option<RememberedConsent>, StoreError> {
        self.consents.submit(Wanted::new(subject, client, now), self.deadline()).await?
    }

    async fn forget(&self, forget: Forget) -> Result<(), StoreError> {
        let markers = Markers::new(self, &[forget.marker()]);
        let (subject, now) = (forget.subject.as_str(), forget.now.as_millis());
        let client = forget.client.as_ref().map_or("", ClientId::as_str);
        let transaction = markers.append(Transaction::new());
        let transaction = match forget.client {
            Some(_) => transaction.then(FORGET_ONE, vec![&subject, &client, &now]),
            None => transaction.then(FORGET_ALL, vec![&subject, &now]),
        };
        self.serial.commit(&transaction).await.map(drop)
    }
}
