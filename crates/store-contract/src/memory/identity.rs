//! Identities in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_identity::identity::{Identity, IdentityRepository, LoginNameHash, Registration};
use sluice_primitives::IdentityId;

use super::{MemoryStore, check};

#[async_trait]
impl IdentityRepository for MemoryStore {
    async fn register(&self, identity: Identity) -> Result<Registration, StoreError> {
        check([identity.email.as_str(), identity.username.as_str(), identity.credential.as_str()])?;
        self.write(|data| {
            let owner = data.login_names.get(&identity.login_name).and_then(|id| data.identities.get(id));
            if let Some(owner) = owner {
                let own = owner.attempt == identity.attempt;
                return if own { Registration::Registered } else { Registration::Taken };
            }
            data.login_names.insert(identity.login_name, identity.id);
            data.identities.insert(identity.id, identity);
            Registration::Registered
        })
        .await
    }

    async fn find_by_login_name(&self, login_name: &LoginNameHash) -> Result<Option<Identity>, StoreError> {
        Ok(self.read(|data| data.login_names.get(login_name).and_then(|id| data.identities.get(id)).cloned()))
    }

    async fn find(&self, id: IdentityId) -> Result<Option<Identity>, StoreError> {
        Ok(self.read(|data| data.identities.get(&id).cloned()))
    }

    async fn replace_credential(&self, id: IdentityId, old: &str, new: &str) -> Result<bool, StoreError> {
        check([new])?;
        self.write(|data| match data.identities.get_mut(&id) {
            Some(identity) if identity.credential == old => {
                new.clone_into(&mut identity.credential);
                identity.hardening = false;
                true
            }
            _ => false,
        })
        .await
    }
}
