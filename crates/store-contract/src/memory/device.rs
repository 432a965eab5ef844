//! Device codes in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::device::{DeviceCode, DeviceCodeRepository, DevicePoll, Polled, SLOW_DOWN, UserCodeHash};
use sluice_primitives::{GrantId, Lifetime, Timestamp};

use super::{Data, MemoryStore, check, count, purge};

#[derive(Debug)]
pub(super) struct Row {
    code: DeviceCode,
    denied: bool,
    polled_at: Option<Timestamp>,
    slower: i64,
}

impl Data {
    /// The code, unless it has expired or something was decided about it.
    fn undecided(&mut self, is_it: impl Fn(&DeviceCode) -> bool, now: Timestamp) -> Option<&mut Row> {
        let Self { device_codes, grants, .. } = self;
        let row = device_codes.values_mut().find(|row| is_it(&row.code))?;
        let open = !row.denied && row.code.expires_at > now && !grants.contains_key(&row.code.id);
        open.then_some(row)
    }

    fn poll(&mut self, id: GrantId, now: Timestamp, interval: Lifetime) -> DevicePoll {
        let is_granted = self.grants.contains_key(&id);
        let Some(row) = self.device_codes.values_mut().find(|row| row.code.id == id) else {
            return DevicePoll::Unknown;
        };
        let present = interval.as_millis() + row.slower;
        let is_too_fast = row.polled_at.is_some_and(|last| now.since(last).as_millis() < present);
        row.polled_at = Some(now);
        row.slower += if is_too_fast { SLOW_DOWN.as_millis() } else { 0 };
        let (is_expired, is_denied) = (row.code.expires_at <= now, row.denied);
        Polled { is_expired, is_denied, is_granted, is_too_fast }.into()
    }
}

#[async_trait]
impl DeviceCodeRepository for MemoryStore {
    async fn insert(&self, code: DeviceCode, now: Timestamp) -> Result<bool, StoreError> {
        check([code.sealed.as_str()])?;
        self.write(|data| {
            let is_free = data.device_codes.get(&code.user_code).is_none_or(|row| row.code.expires_at <= now);
            if is_free {
                let row = Row { denied: false, polled_at: None, slower: 0, code };
                data.device_codes.insert(row.code.user_code, row);
            }
            is_free
        })
        .await
    }

    async fn find_by_user_code(
        &self,
        user_code: UserCodeHash,
        now: Timestamp,
    ) -> Result<Option<DeviceCode>, StoreError> {
        let mut data = self.shared.data.lock();
        Ok(data.undecided(|code| code.user_code == user_code, now).map(|row| row.code.clone()))
    }

    async fn deny(&self, id: GrantId, now: Timestamp) -> Result<bool, StoreError> {
        self.write(|data| {
            let found = data.undecided(|code| code.id == id, now);
            found.map(|row| row.denied = true).is_some()
        })
        .await
    }

    async fn is_denied(&self, id: GrantId) -> Result<bool, StoreError> {
        let data = self.shared.data.lock();
        Ok(data.device_codes.values().any(|row| row.code.id == id && row.denied))
    }

    async fn poll(&self, id: GrantId, now: Timestamp, interval: Lifetime) -> Result<DevicePoll, StoreError> {
        self.write(|data| data.poll(id, now, interval)).await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(|data| count(&purge(&mut data.device_codes, limit, |row| row.code.expires_at < now))).await
    }
}
