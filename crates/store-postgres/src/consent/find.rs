//! How remembered decisions are looked for.

use sluice_oauth::consent::RememberedConsent;
use sluice_primitives::Timestamp;
use sluice_protocol::{Audience, ClientId, Subject};
use tokio_postgres::Row;

use crate::error::{Unreadable, column};
use crate::grant::row::claims;
use crate::queues::{Columns, Look};
use crate::storable::read_list;

/// Whose decision about whom is looked for, as of when.
pub(crate) struct Asked {
    pub(super) subject: Subject,
    pub(super) client: ClientId,
    pub(super) now: Timestamp,
}

/// Remembered decisions that hold.
pub(crate) struct Decisions;

impl Look for Decisions {
    type Asked = Asked;
    type Found = RememberedConsent;
    const SQL: &'static str = include_str!("find.sql");

    fn columns<'a>(batch: &[&'a Asked]) -> Columns<'a> {
        let subjects: Vec<&str> = batch.iter().map(|asked| asked.subject.as_str()).collect();
        let clients: Vec<&str> = batch.iter().map(|asked| asked.client.as_str()).collect();
        let times: Vec<i64> = batch.iter().map(|asked| asked.now.as_millis()).collect();
        vec![Box::new(subjects), Box::new(clients), Box::new(times)]
    }

    fn read(row: &Row, asked: &Asked) -> Result<RememberedConsent, Unreadable> {
        read(row, (asked.subject.clone(), asked.client.clone()))
    }
}

/// Reads what follows the first column of a decision.
pub(super) fn read(
    row: &Row,
    (subject, client): (Subject, ClientId),
) -> Result<RememberedConsent, Unreadable> {
    let unreadable = |cause: &dyn std::fmt::Display| Unreadable::new("consent", cause);
    Ok(RememberedConsent {
        subject,
        client,
        scope: column::<&str>(row, 1)?.parse().map_err(|cause| unreadable(&cause))?,
        audience: Audience::from_values(read_list(column(row, 2)?).map_err(|cause| unreadable(&cause))?),
        claims: claims(column(row, 3)?)?,
        decided_at: Timestamp::from_millis(column(row, 4)?),
        expires_at: Timestamp::from_millis(column(row, 5)?),
    })
}
