//! Remembered decisions. They are stored with the grant they led to: see `grant/insert_with_more.sql`.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::consent::{ConsentRepository, Forget, RememberedConsent};
use sluice_primitives::Timestamp;
use sluice_protocol::{Audience, ClientId, Subject};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::feed::append::Markers;
use crate::grant::row::claims;
use crate::serial::Transaction;
use crate::storable::read_list;

const FIND: &str = include_str!("find.sql");
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
        let rows = self.read(FIND, &[&subject.as_str(), &client.as_str(), &now.as_millis()]).await?;
        let found = rows.first().map(|row| read(row, subject, client));
        Ok(found.transpose()?)
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

fn read(row: &Row, subject: &Subject, client: &ClientId) -> Result<RememberedConsent, Unreadable> {
    let unreadable = |cause: &dyn std::fmt::Display| Unreadable::new("consent", cause);
    Ok(RememberedConsent {
        subject: subject.clone(),
        client: client.clone(),
        scope: column::<&str>(row, 0)?.parse().map_err(|cause| unreadable(&cause))?,
        audience: Audience::from_values(read_list(column(row, 1)?).map_err(|cause| unreadable(&cause))?),
        claims: claims(column(row, 2)?)?,
        decided_at: Timestamp::from_millis(column(row, 3)?),
        expires_at: Timestamp::from_millis(column(row, 4)?),
    })
}
