//! Inserting grants: one statement for a batch, whatever comes with its grants.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_commit::{CommitFailure, StoreError, Writer};
use sluice_oauth::consent::RememberedConsent;
use sluice_oauth::grant::{Grant, Insertion};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::row::claims_text;
use super::{Hot, mixed};
use crate::connection::Params;
use crate::error::{Failure, column};
use crate::guess::Guess;
use crate::statistics::Kind;
use crate::storable;

/// Of grants that are guessed not to be there: if one is, all of it fails, and nothing is written.
const INSERT_NEW: &str = concat!(include_str!("insert.sql"), "-- guessed to be new");
const INSERT: &str =
    concat!(include_str!("insert.sql"), "ON CONFLICT (grant_id) DO NOTHING RETURNING grant_id");
const INSERT_WITH_MORE: &str = include_str!("insert_with_more.sql");
const ATTEMPTS: &str = include_str!("attempts.sql");
/// The constraint that lets a grant be there once.
const KEY: &str = "oauth_grant_pkey";

/// A grant and what is to be stored with it.
pub(crate) struct NewGrant {
    grant: Grant,
    remember: Option<RememberedConsent>,
    participates: bool,
    audience: String,
    claims: String,
}

impl NewGrant {
    /// A grant that can be stored.
    pub(crate) fn new(
        grant: Grant,
        remember: Option<RememberedConsent>,
        participates: bool,
    ) -> Result<Self, StoreError> {
        let (audience, claims) = (storable::list(grant.audience.as_slice()), claims_text(&grant.claims));
        storable::text("the scope of a grant", grant.scope.as_str())?;
        storable::each("the audience of a grant", grant.audience.as_slice())?;
        storable::text("the audience of a grant", &audience)?;
        storable::text("the claims of a grant", &claims)?;
        storable::texts(&[("the name of a subject", grant.claims.shown_subject.as_deref())])?;
        if let Some(decision) = &remember {
            storable::text("the scope of a decision", decision.scope.as_str())?;
            storable::each("the audience of a decision", decision.audience.as_slice())?;
            storable::text("the claims of a decision", &claims_text(&decision.claims))?;
        }
        Ok(Self { grant, remember, participates, audience, claims })
    }

    fn brings_more(&self) -> bool {
        self.participates || self.remember.is_some()
    }
}

/// Inserts batches of grants.
pub(crate) struct InsertGrants {
    hot: Arc<Hot>,
    guess: Guess,
}

impl Writer for InsertGrants {
    type Op = NewGrant;
    type Out = Insertion;

    fn key(op: &NewGrant) -> u64 {
        mixed(op.grant.id.as_uuid())
    }

    async fn commit(&mut self, batch: &[NewGrant]) -> Result<Vec<Insertion>, CommitFailure> {
        let inserted = self.insert(batch).await.map_err(Failure::into_commit_failure)?;
        self.hot.counters.count(Kind::GrantInsert, 1, inserted);
        if inserted == batch.len() {
            return Ok(vec![Insertion::Inserted; batch.len()]);
        }
        self.outcomes(batch).await.map_err(Failure::after_commit)
    }

    async fn reconnect(&mut self) -> Result<(), sluice_commit::BoxError> {
        self.hot.reconnect().await
    }
}

impl InsertGrants {
    pub(crate) fn new(hot: Arc<Hot>) -> Self {
        Self { hot, guess: Guess::default() }
    }

    /// How many of the batch were not there yet.
    async fn insert(&mut self, batch: &[NewGrant]) -> Result<usize, Failure> {
        let columns = Columns::of(batch);
        let rows = if batch.iter().any(NewGrant::brings_more) {
            let more = More::of(batch);
            let values: Vec<_> = columns.values().into_iter().chain(more.values()).collect();
            self.hot.link.query(INSERT_WITH_MORE, &values).await?
        } else {
            if self.guess.is_made(batch.len()) {
                let done = self.hot.link.query(INSERT_NEW, &columns.values()).await;
                if self.guess.turned_out(done, &[KEY])? {
                    return Ok(batch.len());
                }
            }
            self.hot.link.query(INSERT, &columns.values()).await?
        };
        Ok(rows.len())
    }

    /// Who wrote the grants that are there: this attempt, now or before its answer was lost, or another.
    async fn outcomes(&self, batch: &[NewGrant]) -> Result<Vec<Insertion>, Failure> {
        let ids: Vec<Uuid> = batch.iter().map(|op| op.grant.id.as_uuid()).collect();
        let params: Params<'_> = &[&ids];
        let rows = self.hot.link.query(ATTEMPTS, params).await?;
        let attempts: HashMap<Uuid, Uuid> =
            rows.iter().filter_map(|row| Some((column(row, 0).ok()?, column(row, 1).ok()?))).collect();
        let outcome = |op: &NewGrant| {
            let own = attempts.get(&op.grant.id.as_uuid()) == Some(&op.grant.attempt.as_uuid());
            if own { Insertion::Inserted } else { Insertion::Taken }
        };
        Ok(batch.iter().map(outcome).collect())
    }
}

/// The grants of a batch, column by column.
struct Columns<'a> {
    uuids: [Vec<Uuid>; 2],
    session: Vec<Option<Uuid>>,
    texts: [Vec<&'a str>; 5],
    times: [Vec<i64>; 4],
    maybe_times: [Vec<Option<i64>>; 3],
}

impl<'a> Columns<'a> {
    fn of(batch: &'a [NewGrant]) -> Self {
        let uuids = |of: fn(&Grant) -> Uuid| batch.iter().map(|op| of(&op.grant)).collect();
        let times = |of: fn(&Grant) -> i64| batch.iter().map(|op| of(&op.grant)).collect();
        let maybe = |of: fn(&Grant) -> Option<i64>| batch.iter().map(|op| of(&op.grant)).collect();
        let texts = |of: fn(&'a NewGrant) -> &'a str| batch.iter().map(of).collect();
        Self {
            uuids: [uuids(|grant| grant.id.as_uuid()), uuids(|grant| grant.attempt.as_uuid())],
            session: batch
                .iter()
                .map(|op| op.grant.session.map(sluice_primitives::SessionId::as_uuid))
                .collect(),
            texts: [
                texts(|op| op.grant.client.as_str()),
                texts(|op| op.grant.subject.as_str()),
                texts(|op| op.grant.scope.as_str()),
                texts(|op| &op.audience),
                texts(|op| &op.claims),
            ],
            times: [
                times(|grant| grant.authenticated_at.as_millis()),
                times(|grant| grant.consented_at.as_millis()),
                times(|grant| grant.expires_at.as_millis()),
                times(|grant| i64::from(grant.generation.0)),
            ],
            maybe_times: [
                maybe(|grant| grant.redeemed_at.map(sluice_primitives::Timestamp::as_millis)),
                maybe(|grant| grant.revoked_at.map(sluice_primitives::Timestamp::as_millis)),
                maybe(|grant| grant.rotated_at.map(sluice_primitives::Timestamp::as_millis)),
            ],
        }
    }

    /// In the order of the placeholders.
    fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        let [id, attempt] = &self.uuids;
        let [client, subject, scope, audience, claims] = &self.texts;
        let [authenticated, consented, expires, generation] = &self.times;
        let [redeemed, revoked, rotated] = &self.maybe_times;
        vec![
            id,
            client,
            subject,
            &self.session,
            scope,
            audience,
            claims,
            authenticated,
            consented,
            expires,
            redeemed,
            revoked,
            generation,
            rotated,
            attempt,
        ]
    }
}

/// What comes with the grants of a batch, column by column.
struct More<'a> {
    decided: Vec<Uuid>,
    texts: [Vec<&'a str>; 3],
    encoded: [Vec<String>; 2],
    times: [Vec<i64>; 2],
    participating: Vec<Uuid>,
    shown_subjects: Vec<Option<&'a str>>,
}

impl<'a> More<'a> {
    fn of(batch: &'a [NewGrant]) -> Self {
        let decisions = || batch.iter().filter_map(|op| Some((&op.grant, op.remember.as_ref()?)));
        let participating = || batch.iter().filter(|op| op.participates).map(|op| &op.grant);
        let texts =
            |of: fn(&'a RememberedConsent) -> &'a str| decisions().map(|(_, made)| of(made)).collect();
        Self {
            decided: decisions().map(|(grant, _)| grant.id.as_uuid()).collect(),
            texts: [
                texts(|made| made.subject.as_str()),
                texts(|made| made.client.as_str()),
                texts(|made| made.scope.as_str()),
            ],
            encoded: [
                decisions().map(|(_, made)| storable::list(made.audience.as_slice())).collect(),
                decisions().map(|(_, made)| claims_text(&made.claims)).collect(),
            ],
            times: [
                decisions().map(|(_, made)| made.decided_at.as_millis()).collect(),
                decisions().map(|(_, made)| made.expires_at.as_millis()).collect(),
            ],
            participating: participating().map(|grant| grant.id.as_uuid()).collect(),
            shown_subjects: participating().map(|grant| grant.claims.shown_subject.as_deref()).collect(),
        }
    }

    /// In the order of the placeholders.
    fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        let [subject, client, scope] = &self.texts;
        let [audience, claims] = &self.encoded;
        let [decided, expires] = &self.times;
        let (participating, shown) = (&self.participating, &self.shown_subjects);
        vec![&self.decided, subject, client, scope, audience, claims, decided, expires, participating, shown]
    }
}
