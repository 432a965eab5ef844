//! Remembered decisions on SQLite. They are inserted by the transaction of their grant, but for those that were made elsewhere.

use async_trait::async_trait;
use rusqlite::{Row, params};
use sluice_commit::StoreError;
use sluice_oauth::consent::{ConsentRepository, DecisionName, DecisionPage, Forget, RememberedConsent};
use sluice_primitives::{GrantId, Timestamp};
use sluice_protocol::{ClientId, Subject};
use sluice_token::Target;

use crate::error::SqliteError;
use crate::row;
use crate::store::SqliteStore;
use crate::writer::Write;

const REMEMBER: &str = include_str!("remember.sql");
const IMPORT: &str = include_str!("import.sql");
const FIND: &str = include_str!("find.sql");
const LIST: &str = include_str!("list.sql");
const COUNT_DECISIONS: &str = include_str!("count_decisions.sql");
const MADE_IN: &str = include_str!("made_in.sql");
const FORGET_ONE: &str = include_str!("forget_one.sql");
const FORGET_ALL: &str = include_str!("forget_all.sql");
const FORGET_DELETED: &str = include_str!("forget_deleted.sql");
const PURGE_EXPIRED: &str = include_str!("purge_expired.sql");

/// Deletes all decisions of a subject who is gone.
pub(crate) fn forget_all(write: &mut Write<'_>, subject: &str) -> Result<(), SqliteError> {
    write.delete("consent", FORGET_DELETED, [subject]).map(drop)
}

/// A decision with all that needs no connection done.
pub(crate) struct Decision {
    consent: RememberedConsent,
    audience: String,
    claims: String,
}

impl Decision {
    pub(crate) fn new(consent: RememberedConsent) -> Result<Self, StoreError> {
        let audience = row::encode_list("audience", consent.audience.as_slice())?;
        row::check("scope", consent.scope.as_str())?;
        Ok(Self { audience, claims: row::encode_claims(&consent.claims)?, consent })
    }

    /// Remembers the decision, unless a later one is there, or it was forgotten after it was made, or the login that it was made
    /// in was signed out.
    pub(crate) fn remember(
        &self,
        write: &mut Write<'_>,
        authenticated_at: Timestamp,
    ) -> Result<(), SqliteError> {
        let Self { consent: decision, audience, claims } = self;
        let forgotten = Target::SubjectClient(decision.subject.clone(), decision.client.clone());
        let values = params![
            decision.subject.as_str(),
            decision.client.as_str(),
            decision.scope.as_str(),
            audience,
            claims,
            decision.decided_at.as_millis(),
            decision.expires_at.as_millis(),
            forgotten.key(),
            authenticated_at.as_millis(),
        ];
        write.insert("consent", REMEMBER, values)?;
        Ok(())
    }

    /// Remembers a decision that was made elsewhere, unless it or a later one is there, or it was forgotten after it was made, or its
    /// subject was signed out since. How many rows were written.
    fn import(&self, write: &mut Write<'_>) -> Result<usize, SqliteError> {
        let Self { consent: decision, audience, claims } = self;
        let forgotten = Target::SubjectClient(decision.subject.clone(), decision.client.clone());
        let values = params![
            decision.subject.as_str(),
            decision.client.as_str(),
            decision.scope.as_str(),
            audience,
            claims,
            decision.decided_at.as_millis(),
            decision.expires_at.as_millis(),
            forgotten.key(),
        ];
        write.insert("consent", IMPORT, values)
    }
}

fn decision(row: &Row<'_>) -> Result<RememberedConsent, SqliteError> {
    Ok(RememberedConsent {
        subject: row::parsed(row, 0)?,
        client: row::parsed(row, 1)?,
        scope: row::parsed(row, 2)?,
        audience: row::audience(row, 3)?,
        claims: row::json(row, 4)?,
        decided_at: row::time(row, 5)?,
        expires_at: row::time(row, 6)?,
    })
}

#[async_trait]
impl ConsentRepository for SqliteStore {
    async fn find(
        &self,
        subject: &Subject,
        client: &ClientId,
        now: Timestamp,
    ) -> Result<Option<RememberedConsent>, StoreError> {
        let (subject, client) = (subject.clone(), client.clone());
        self.read(move |read| read.row(FIND, (subject.as_str(), client.as_str(), now.as_millis()), decision))
            .await
    }

    async fn list(&self, page: DecisionPage) -> Result<Vec<RememberedConsent>, StoreError> {
        self.read(move |read| {
            let session = page.session.map(|session| session.to_string());
            let after = page.after.as_ref().map(ClientId::as_str);
            let values = params![page.subject.as_str(), session, after, page.now.as_millis(), page.limit];
            read.rows(LIST, values, decision)
        })
        .await
    }

    async fn count_decisions(
        &self,
        subject: &Subject,
        now: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let subject = subject.clone();
        let counted = self
            .read(move |read| {
                let values = (subject.as_str(), now.as_millis(), limit);
                read.row(COUNT_DECISIONS, values, |row| row::count_of(row, 0))
            })
            .await?;
        Ok(counted.unwrap_or_default())
    }

    async fn made_in(&self, flow: GrantId) -> Result<Option<DecisionName>, StoreError> {
        self.read(move |read| {
            read.row(MADE_IN, [flow.to_string()], |row| {
                Ok(DecisionName {
                    subject: row::parsed(row, 0)?,
                    client: row::parsed(row, 1)?,
                    decided_at: row::time(row, 2)?,
                })
            })
        })
        .await
    }

    async fn forget(&self, forget: Forget) -> Result<(), StoreError> {
        self.write(move |write| {
            let (subject, now) = (forget.subject.as_str(), forget.now.as_millis());
            match &forget.client {
                Some(client) => write.delete("consent", FORGET_ONE, (subject, client.as_str(), now))?,
                None => write.delete("consent", FORGET_ALL, (subject, now))?,
            };
            write.mark(&forget.marker())
        })
        .await
    }

    async fn import(&self, decisions: Vec<RememberedConsent>) -> Result<u64, StoreError> {
        let decisions = decisions.into_iter().map(Decision::new).collect::<Result<Vec<_>, _>>()?;
        self.write(move |write| {
            let mut written = 0;
            for decision in &decisions {
                written += decision.import(write)?;
            }
            Ok(row::count(written))
        })
        .await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(move |write| {
            Ok(row::count(write.delete("consent", PURGE_EXPIRED, (now.as_millis(), limit))?))
        })
        .await
    }
}
