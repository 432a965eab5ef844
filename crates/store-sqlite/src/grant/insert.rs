//! Inserts grants: insert-if-absent, and the attempt tells whose it is.

use rusqlite::params;
use sluice_commit::StoreError;
use sluice_oauth::consent::RememberedConsent;
use sluice_oauth::grant::{Grant, Insertion};
use sluice_primitives::AttemptId;
use sluice_token::Target;

use super::key_of;
use crate::consent::Decision;
use crate::error::SqliteError;
use crate::row;
use crate::writer::{Kind, Write};

const INSERT: &str = include_str!("insert.sql");
const ATTEMPT: &str = include_str!("attempt.sql");
const PARTICIPATE: &str = include_str!("participate.sql");

/// A grant with all that needs no connection done.
pub(crate) struct NewGrant {
    grant: Grant,
    audience: String,
    claims: String,
    /// The keys of the markers that may cover it from the start: grant, session, subject, subject and client.
    marked_by: [Option<String>; 4],
    decision: Option<Decision>,
    participates: bool,
}

impl NewGrant {
    pub(super) fn new(
        grant: Grant,
        remember: Option<RememberedConsent>,
        participates: bool,
    ) -> Result<Self, StoreError> {
        row::check("scope", grant.scope.as_str())?;
        let pair = Target::SubjectClient(grant.subject.clone(), grant.client.clone());
        Ok(Self {
            audience: row::encode_list("audience", grant.audience.as_slice())?,
            claims: row::encode_claims(&grant.claims)?,
            marked_by: [
                Some(grant.id.to_string()),
                grant.session.map(|session| session.to_string()),
                Some(grant.subject.to_string()),
                Some(pair.key()),
            ],
            decision: remember.map(Decision::new).transpose()?,
            participates,
            grant,
        })
    }
}

/// Inserts grants.
pub(crate) struct InsertGrant;

impl Kind for InsertGrant {
    type Op = NewGrant;
    type Out = Insertion;

    fn key(op: &NewGrant) -> u64 {
        key_of(op.grant.id)
    }

    fn write(write: &mut Write<'_>, op: &NewGrant) -> Result<Insertion, SqliteError> {
        let NewGrant {
            grant, audience, claims, marked_by: [by_grant, by_session, by_subject, by_pair], ..
        } = op;
        let values = params![
            grant.id.as_bytes(),
            grant.client.as_str(),
            grant.subject.as_str(),
            grant.session.map(|session| *session.as_bytes()),
            grant.scope.as_str(),
            audience,
            claims,
            grant.authenticated_at.as_millis(),
            grant.consented_at.as_millis(),
            grant.expires_at.as_millis(),
            grant.redeemed_at.map(sluice_primitives::Timestamp::as_millis),
            grant.revoked_at.map(sluice_primitives::Timestamp::as_millis),
            grant.generation.0,
            grant.rotated_at.map(sluice_primitives::Timestamp::as_millis),
            grant.attempt.as_bytes(),
            by_grant,
            by_session,
            by_subject,
            by_pair,
        ];
        if write.insert("oauth_grant", INSERT, values)? == 0 {
            let attempt = |row: &rusqlite::Row<'_>| Ok(AttemptId::from_bytes(row.get(0)?));
            let first = write.row(ATTEMPT, [grant.id.as_bytes()], attempt)?;
            return Ok(if first == Some(grant.attempt) { Insertion::Inserted } else { Insertion::Taken });
        }
        if let Some(decision) = &op.decision {
            decision.remember(write, grant.authenticated_at)?;
        }
        if let Some(session) = grant.session.filter(|_| op.participates) {
            let values = (session.as_bytes(), grant.client.as_str(), grant.claims.shown_subject.as_deref());
            write.insert("session_client", PARTICIPATE, values)?;
        }
        Ok(Insertion::Inserted)
    }
}
