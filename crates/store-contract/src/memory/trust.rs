//! Trusted issuers in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_crypto::jwk::Jwk;
use sluice_oauth::trust::{TrustedIssuer, TrustedIssuerRepository};
use sluice_primitives::{Timestamp, TrustId};

use super::{MemoryStore, check, count, purge};

fn is_same(one: &TrustedIssuer, other: &TrustedIssuer) -> bool {
    one.issuer == other.issuer && one.subject == other.subject && one.key_id == other.key_id
}

fn is_of(trusted: &TrustedIssuer, issuer: &str, key_id: Option<&str>) -> bool {
    trusted.issuer == issuer && key_id.is_none_or(|key_id| key_id == trusted.key_id)
}

#[async_trait]
impl TrustedIssuerRepository for MemoryStore {
    async fn insert(&self, trusted: &TrustedIssuer) -> Result<bool, StoreError> {
        let subject = trusted.subject.as_deref();
        check([trusted.issuer.as_str(), &trusted.key_id, subject.unwrap_or_default()])?;
        let trusted = TrustedIssuer { jwk: trusted.jwk.public(), ..trusted.clone() };
        self.write(|data| {
            let there = data.trusted.values().find(|there| is_same(there, &trusted));
            if let Some(there) = there {
                if there.expires_at > trusted.created_at {
                    return false;
                }
                let replaced = there.id;
                data.trusted.remove(&replaced);
            }
            data.trusted.insert(trusted.id, trusted);
            true
        })
        .await
    }

    async fn find(&self, id: TrustId) -> Result<Option<TrustedIssuer>, StoreError> {
        Ok(self.read(|data| data.trusted.get(&id).cloned()))
    }

    async fn find_for(
        &self,
        issuer: &str,
        subject: &str,
        key_id: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<TrustedIssuer>, StoreError> {
        Ok(self.read(|data| {
            let all = data.trusted.values();
            let mut found: Vec<_> = all
                .filter(|trusted| trusted.issuer == issuer && trusted.expires_at > now)
                .filter(|trusted| trusted.subject.as_deref().is_none_or(|own| own == subject))
                .filter(|trusted| key_id.is_none_or(|key_id| key_id == trusted.key_id))
                .cloned()
                .collect();
            found.sort_by_key(|trusted| trusted.subject.is_none());
            found.truncate(8);
            found
        }))
    }

    async fn list(
        &self,
        issuer: Option<&str>,
        after: Option<TrustId>,
        limit: u32,
    ) -> Result<Vec<TrustedIssuer>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(self.read(|data| {
            let all = data.trusted.values();
            all.filter(|trusted| issuer.is_none_or(|issuer| issuer == trusted.issuer))
                .filter(|trusted| after.is_none_or(|after| trusted.id > after))
                .take(limit)
                .cloned()
                .collect()
        }))
    }

    async fn count_trusted(&self) -> Result<u64, StoreError> {
        Ok(self.read(|data| data.trusted.len() as u64))
    }

    async fn keys_of(&self, issuer: &str, key_id: Option<&str>) -> Result<Vec<Jwk>, StoreError> {
        Ok(self.read(|data| {
            let of_issuer = data.trusted.values().filter(|trusted| is_of(trusted, issuer, key_id));
            let mut keys: Vec<Jwk> = Vec::new();
            for key in of_issuer.map(|trusted| &trusted.jwk) {
                if !keys.contains(key) {
                    keys.push(key.clone());
                }
            }
            keys.sort_by(|one, other| one.kid.cmp(&other.kid));
            keys
        }))
    }

    async fn delete(&self, id: TrustId) -> Result<bool, StoreError> {
        self.write(|data| data.trusted.remove(&id).is_some()).await
    }

    async fn delete_keys_of(&self, issuer: &str, key_id: Option<&str>) -> Result<bool, StoreError> {
        self.write(|data| {
            let before = data.trusted.len();
            data.trusted.retain(|_, trusted| !is_of(trusted, issuer, key_id));
            data.trusted.len() < before
        })
        .await
    }

    async fn purge_expired(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.write(|data| count(&purge(&mut data.trusted, limit, |trusted| trusted.expires_at < now))).await
    }
}
