//! What is written to the addresses of those who register, column by column.

use sluice_identity::identity::NewIdentity;
use sluice_identity::mail::{CodeByMail, MAX_CODE_TRIES};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// The letters of a batch. Of each registration two at most, of which one is written.
pub(super) struct Letters<'a> {
    registers: Vec<Uuid>,
    if_taken: Vec<bool>,
    purposes: Vec<i16>,
    hashes: Vec<&'a [u8]>,
    /// Whose the code is; its attempt; the mail's own id.
    ids: [Vec<Uuid>; 3],
    /// The address; the sealed mail.
    texts: [Vec<&'a str>; 2],
    /// When the code expires; when the mail is due.
    times: [Vec<i64>; 2],
    tries: i32,
}

impl<'a> Letters<'a> {
    /// Those of a batch; none if it brings none.
    pub(super) fn of(batch: &'a [NewIdentity]) -> Option<Self> {
        let all: Vec<(Uuid, bool, &CodeByMail)> = batch.iter().flat_map(of_one).collect();
        if all.is_empty() {
            return None;
        }
        let ids = |of: fn(&CodeByMail) -> Uuid| all.iter().map(|(.., letter)| of(letter)).collect();
        let times = |of: fn(&CodeByMail) -> i64| all.iter().map(|(.., letter)| of(letter)).collect();
        let texts = |of: fn(&'a CodeByMail) -> &'a str| all.iter().map(|(.., letter)| of(letter)).collect();
        Some(Self {
            registers: all.iter().map(|(registers, ..)| *registers).collect(),
            if_taken: all.iter().map(|(_, if_taken, _)| *if_taken).collect(),
            purposes: all.iter().map(|(.., letter)| letter.code.purpose.stored()).collect(),
            hashes: all.iter().map(|(.., letter)| letter.code.hash.as_slice()).collect(),
            ids: [
                ids(|letter| letter.code.identity.as_uuid()),
                ids(|letter| letter.code.attempt.as_uuid()),
                ids(|letter| letter.mail.id),
            ],
            texts: [texts(|letter| &letter.code.email), texts(|letter| &letter.mail.sealed)],
            times: [
                times(|letter| letter.code.expires_at.as_millis()),
                times(|letter| letter.mail.due_at.as_millis()),
            ],
            tries: i32::try_from(MAX_CODE_TRIES).unwrap_or(i32::MAX),
        })
    }

    /// In the order of the placeholders.
    pub(super) fn values(&self) -> [&(dyn ToSql + Sync); 12] {
        let Self { registers, if_taken, purposes, hashes, ids, texts, times, tries } = self;
        let [identities, attempts, mails] = ids;
        let [emails, sealed] = texts;
        let [expire, due] = times;
        [
            registers, if_taken, identities, purposes, hashes, emails, expire, attempts, mails, sealed, due,
            tries,
        ]
    }
}

fn of_one(new: &NewIdentity) -> impl Iterator<Item = (Uuid, bool, &CodeByMail)> {
    let id = new.identity.id.as_uuid();
    let letters = new.letters.iter().flat_map(|letters| {
        std::iter::once((false, &letters.welcome)).chain(letters.if_taken.iter().map(|letter| (true, letter)))
    });
    letters.map(move |(if_taken, letter)| (id, if_taken, letter))
}
