//! Changes of identities in memory: what was looked at is still so, or nothing happens.

use sluice_commit::StoreError;
use sluice_identity::identity::{Changed, EndsSessions, Identity, IdentityChange, NewCredential, NewEmail};
use sluice_primitives::{IdentityId, NodeId, Timestamp};

use super::{Data, check};

pub(super) fn check_change(change: &IdentityChange) -> Result<(), StoreError> {
    let email = change.email.iter().map(|new| new.email.as_str());
    let credential = change.credential.iter().map(|new| new.stored.as_str());
    let mails = change.mails.iter().map(|mail| mail.sealed.as_str());
    check(email.chain(credential).chain(mails).chain(change.username.as_deref()))
}

/// What of a change lies in the row itself.
fn apply(identity: &mut Identity, change: &IdentityChange) {
    if let Some(NewEmail { email, login_name }) = change.email.clone() {
        (identity.email, identity.login_name) = (email, login_name);
    }
    if let Some(NewCredential { stored, hardening }) = change.credential.clone() {
        (identity.credential, identity.hardening) = (stored, hardening);
    }
    if let Some(username) = change.username.clone() {
        identity.username = username;
    }
    identity.status = change.status.unwrap_or(identity.status);
    identity.email_verified_at = change.email_verified_at.unwrap_or(identity.email_verified_at);
    identity.updated_at = change.now;
    identity.revision += i64::from(change.raises_revision());
    identity.attempt = change.attempt;
}

impl Data {
    pub(super) fn change_identity(&mut self, node: NodeId, change: &IdentityChange) -> Changed {
        let Some(identity) = self.identities.get_mut(&change.id) else { return Changed::Stale };
        if identity.attempt == change.attempt {
            return Changed::Done;
        }
        if identity.revision != change.revision {
            return Changed::Stale;
        }
        if let Some(new) = &change.email {
            if self.login_names.get(&new.login_name).is_some_and(|owner| *owner != change.id) {
                return Changed::Taken;
            }
            self.login_names.remove(&identity.login_name);
            self.login_names.insert(new.login_name, change.id);
        }
        apply(identity, change);
        self.follow(node, change);
        Changed::Done
    }

    /// What of a change lies outside the row.
    fn follow(&mut self, node: NodeId, change: &IdentityChange) {
        if let Some(credential) = &change.credential {
            self.queue_for_hardening(change.id, credential.hardening.then_some(change.now));
        }
        if change.forgets_factors {
            self.forget_factors(change.id);
        }
        if change.revokes {
            // What the marker covers needs none of its own.
            self.forget_identity_sessions(change.id, change.now);
            self.mark_subject(node, change.id, change.now, change.marker_expires_at);
        }
        self.end_identity_sessions(node, change);
        for mail in &change.mails {
            self.queue_mail(mail);
        }
    }

    fn queue_for_hardening(&mut self, id: IdentityId, due: Option<Timestamp>) {
        match due {
            Some(due) => self.hardening.insert(id, due),
            None => self.hardening.remove(&id),
        };
    }

    fn end_identity_sessions(&mut self, node: NodeId, change: &IdentityChange) {
        let spared = match change.ends_sessions {
            EndsSessions::None => return,
            EndsSessions::All => None,
            EndsSessions::AllBut(session) => Some(session),
        };
        let own = self.identity_sessions.values().filter(|session| session.identity == change.id);
        let ending: Vec<_> = own.map(|session| session.id).filter(|id| Some(*id) != spared).collect();
        for session in ending {
            self.end_identity_session(node, session, (change.now, change.marker_expires_at));
        }
    }
}
