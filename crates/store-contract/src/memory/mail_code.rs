//! Codes that mails carry, in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::mail::{
    CodePurpose, CodeRepository, MAX_CODE_TRIES, MailCode, QueuedMail, ShownCode, TakenCode,
};
use sluice_primitives::{AttemptId, IdentityId, Timestamp};

use super::{Data, MemoryStore, check, count, purge};

#[derive(Debug)]
pub(super) struct Row {
    code: MailCode,
    tries: u32,
    taken_by: Option<AttemptId>,
}

impl Data {
    /// Puts a code and its mail, unless this attempt has.
    pub(super) fn put_code(&mut self, code: &MailCode, mail: &QueuedMail) {
        let key = (code.identity, code.purpose.stored());
        if self.mail_codes.get(&key).is_none_or(|row| row.code.attempt != code.attempt) {
            self.mail_codes.insert(key, Row { code: code.clone(), tries: 0, taken_by: None });
            self.queue_mail(mail);
        }
    }
}

impl Row {
    fn take(&mut self, shown: ShownCode<'_>, now: Timestamp, attempt: AttemptId) -> TakenCode {
        let (is_right, by_link) = (shown.hashes.contains(&self.code.hash), shown.by_link);
        let by_another = self.taken_by.is_some_and(|taken_by| taken_by != attempt);
        let is_guessed = self.tries >= MAX_CODE_TRIES && !(is_right && by_link);
        if by_another || self.code.expires_at <= now || is_guessed {
            return TakenCode::Gone;
        }
        if !is_right {
            self.tries += u32::from(!by_link);
            return TakenCode::Wrong;
        }
        if !shown.keeps {
            self.taken_by = Some(attempt);
        }
        TakenCode::Right { email: self.code.email.clone() }
    }
}

#[async_trait]
impl CodeRepository for MemoryStore {
    async fn put(&self, code: &MailCode, mail: &QueuedMail) -> Result<(), StoreError> {
        check([code.email.as_str(), mail.sealed.as_str()])?;
        self.write(|data| data.put_code(code, mail)).await
    }

    async fn take(
        &self,
        identity: IdentityId,
        purpose: CodePurpose,
        shown: ShownCode<'_>,
        (now, attempt): (Timestamp, AttemptId),
    ) -> Result<TakenCode, StoreError> {
        self.write(|data| {
            let row = data.mail_codes.get_mut(&(identity, purpose.stored()));
            row.map_or(TakenCode::Gone, |row| row.take(shown, now, attempt))
        })
        .await
    }

    async fn sent_to(
        &self,
        identity: IdentityId,
        purpose: CodePurpose,
        hashes: &[[u8; 32]],
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let is_right = |row: &&Row| {
            row.taken_by.is_none() && now < row.code.expires_at && hashes.contains(&row.code.hash)
        };
        Ok(self.read(|data| {
            let row = data.mail_codes.get(&(identity, purpose.stored()));
            row.filter(is_right).map(|row| row.code.email.clone())
        }))
    }

    async fn purge_expired(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(|data| count(&purge(&mut data.mail_codes, limit, |row| row.code.expires_at < before)))
            .await
    }
}
