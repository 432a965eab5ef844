//! The audit trail of browsers: who signed in to applications by the built-in page, and who out. Other pages may call people by their
//! addresses, which the trail does not tell: of those it says nothing.

use sluice_primitives::{IdentityId, SessionId};
use sluice_protocol::{ClientId, Subject};
use tracing::info;

use crate::config::Config;
use crate::flow::Login;

/// The person of this subject, if people log in at the built-in page, which calls them by their id.
pub(crate) fn person(config: &Config, subject: &Subject) -> Option<IdentityId> {
    let id = subject.as_str().parse::<IdentityId>().ok();
    // A UUID can be written in more ways than one; a person is called by one.
    id.filter(|id| config.has_own_login() && id.to_string() == subject.as_str())
}

/// Somebody logged in, and was not let through because a session went on.
pub(crate) fn signed_in(config: &Config, login: &Login, client: &ClientId) {
    if let Some(id) = person(config, &login.subject) {
        info!(target: "sluice_audit", { identity.id = %id, session.id = %login.session, client.id = %client, amr = ?login.amr }, "signed in");
    }
}

/// A session of this subject ended.
pub(crate) fn signed_out(config: &Config, subject: &Subject, session: SessionId) {
    if let Some(id) = person(config, subject) {
        info!(target: "sluice_audit", { identity.id = %id, session.id = %session }, "signed out");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fake;

    #[test]
    fn a_subject_is_a_person_where_people_log_in_at_the_built_in_page() {
        let elsewhere = fake::config();
        let mut here = fake::config();
        here.pages.login = here.issuer.endpoint("/ui/login").parse().unwrap();
        let id = IdentityId::from_bytes([0xab; 16]);
        let told = |config, subject: &str| person(config, &subject.parse().unwrap());
        assert_eq!(told(&here, &id.to_string()), Some(id));
        assert_eq!(told(&elsewhere, &id.to_string()), None);
        for other in
            [id.to_string().to_uppercase(), id.to_string().replace('-', ""), "alice@example.com".to_owned()]
        {
            assert_eq!(told(&here, &other), None, "{other}");
        }
    }
}
