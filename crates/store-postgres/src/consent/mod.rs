//! Remembered decisions. They are stored with the grant they led to: see `grant/insert_with_more.sql`.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::consent::{ConsentRepository, Forget, RememberedConsent};
use sluice_primitives::Timestamp;
use sluice_protocol::{Audience, ClientId, Subject};
use sluice_token::{Marker, Target};
use tokio_postgres::Row;

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::feed::append::{Counted, Markers};
use crate::grant::row::claims;
use crate::serial::Transaction;
use crate::storable::read_list;

const FIND: &str = include_str!("find.sql");
const FORGET_ONE: &str = include_str!("forget_one.sql");
const FORGET_ALL: &str = include_str!("forget_all.sql");
const APPEND_MARKERS_OF_ALL: &str = include_str!("append_markers_of_all.sql");
/// The place of the statement that appends, within its transaction.
const APPENDED: usize = 1;
const SETTLE_COUNTER: &str = include_str!("settle_counter.sql");

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

    async fn forget(&self, forget: Forget) -> Result<Vec<ClientId>, StoreError> {
        match &forget.client {
            Some(client) => self.forget_one(&forget, client).await.map(|()| vec![client.clone()]),
            None => self.forget_all(&forget).await,
        }
    }
}

impl PostgresStore {
    async fn forget_one(&self, forget: &Forget, client: &ClientId) -> Result<(), StoreError> {
        let target = Target::SubjectClient(forget.subject.clone(), client.clone());
        let markers =
            Markers::new(self, &[Marker { target, at: forget.now, expires_at: forget.marker_expires_at }]);
        let (subject, client, now) = (forget.subject.as_str(), client.as_str(), forget.now.as_millis());
        let transaction = markers.append(Transaction::new()).then(FORGET_ONE, vec![&subject, &client, &now]);
        self.serial.commit(&transaction).await.map(drop)
    }

    async fn forget_all(&self, forget: &Forget) -> Result<Vec<ClientId>, StoreError> {
        let counted = Counted::new(self, 1, forget.now);
        let (subject, expires_at) = (forget.subject.as_str(), forget.marker_expires_at.as_millis());
        let transaction = counted
            .for_revocations(Transaction::new())
            .then(APPEND_MARKERS_OF_ALL, vec![&counted.node, &counted.at, &expires_at, &subject])
            .then(SETTLE_COUNTER, vec![&counted.node])
            .then(FORGET_ALL, vec![&subject, &counted.at]);
        let committed = self.serial.commit(&transaction).await?;
        let clients = committed.rows_of(APPENDED).iter().map(client);
        Ok(clients.collect::<Result<_, _>>()?)
    }
}

fn client(row: &Row) -> Result<ClientId, Unreadable> {
    column::<&str>(row, 0)?.parse().map_err(|cause| Unreadable::new("consent", &cause))
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
