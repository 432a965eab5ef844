//! Remembered decisions. They are stored with the grant they led to: see `grant/insert_with_more.sql`; `import`: those that were made
//! elsewhere. [`find`]: the hot read.

pub(crate) mod find;
mod import;

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::consent::{ConsentRepository, DecisionName, DecisionPage, Forget, RememberedConsent};
use sluice_primitives::{GrantId, SessionId, Timestamp};
use sluice_protocol::{ClientId, Subject};

use crate::PostgresStore;
use crate::error::{Unreadable, column};
use crate::feed::append::Markers;
use crate::queues::Wanted;
use crate::serial::Transaction;
use find::Asked;

const LIST: &str = include_str!("list.sql");
const COUNT_DECISIONS: &str = include_str!("count_decisions.sql");
const MADE_IN: &str = include_str!("made_in.sql");
const FORGET_ONE: &str = include_str!("forget_one.sql");
const FORGET_ALL: &str = include_str!("forget_all.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

#[async_trait]
impl ConsentRepository for PostgresStore {
    async fn find(
        &self,
        subject: &Subject,
        client: &ClientId,
        now: Timestamp,
    ) -> Result<Option<RememberedConsent>, StoreError> {
        let asked = Asked { subject: subject.clone(), client: client.clone(), now };
        self.lookups.consents.submit(Wanted::new(asked), self.deadline()).await?
    }

    async fn list(&self, page: DecisionPage) -> Result<Vec<RememberedConsent>, StoreError> {
        let (subject, session) = (page.subject.as_str(), page.session.map(SessionId::as_uuid));
        let after = page.after.as_ref().map(ClientId::as_str);
        let (now, limit) = (page.now.as_millis(), i64::from(page.limit));
        let rows = self.read(LIST, &[&subject, &session, &after, &now, &limit]).await?;
        let mut decisions = Vec::with_capacity(rows.len());
        for row in &rows {
            let client = column::<&str>(row, 0)?.parse::<ClientId>();
            let client = client.map_err(|cause| Unreadable::new("consent", &cause))?;
            decisions.push(find::read(row, (page.subject.clone(), client))?);
        }
        Ok(decisions)
    }

    async fn count_decisions(
        &self,
        subject: &Subject,
        now: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let (now, limit) = (now.as_millis(), i64::from(limit));
        let rows = self.read(COUNT_DECISIONS, &[&subject.as_str(), &now, &limit]).await?;
        let counted: Option<i64> = rows.first().map(|row| column(row, 0)).transpose()?;
        Ok(counted.unwrap_or_default().unsigned_abs())
    }

    async fn made_in(&self, flow: GrantId) -> Result<Option<DecisionName>, StoreError> {
        let rows = self.read(MADE_IN, &[&flow.as_uuid()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let unreadable = |cause: &dyn std::fmt::Display| Unreadable::new("consent", cause);
        Ok(Some(DecisionName {
            subject: column::<&str>(row, 0)?.parse().map_err(|cause| unreadable(&cause))?,
            client: column::<&str>(row, 1)?.parse().map_err(|cause| unreadable(&cause))?,
            decided_at: Timestamp::from_millis(column(row, 2)?),
        }))
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

    async fn import(&self, decisions: Vec<RememberedConsent>) -> Result<u64, StoreError> {
        import::import(self, &decisions).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let purged = self.upkeep(PURGE_EXPIRED, &[&now.as_millis(), &i64::from(limit)]).await?;
        Ok(purged.len() as u64)
    }
}
