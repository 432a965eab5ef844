//! People who are registered at the server under measurement.

use std::time::Duration;

use super::pages::Credentials;
use super::{crowd, metrics};
use crate::driver::{Agent, Ask, Failure, Nobody, Origin};
use crate::target::Target;

const PATH: &str = "/auth/register";
/// As of Hydra, which leaves people to others.
const NO_PEOPLE: &str = "nobody can register at this server: it has no identity service at /auth/register";
/// How long hardening may take before a run; whoever is not hardened by then is hardened by their first login.
const PATIENCE: Duration = Duration::from_mins(2);

/// Somebody of a run.
pub(crate) fn person(run: u64, number: u64) -> Credentials {
    let name = format!("person-{number}@{run:016x}.example");
    Credentials { name, password: format!("pass phrase {number}") }
}

/// Registers somebody.
pub(crate) async fn register(agent: &mut Agent, person: &Credentials) -> Result<(), Failure> {
    let Credentials { name, password } = person;
    let body = format!(r#"{{"email":"{name}","username":"Somebody","password":"{password}"}}"#);
    let answer = agent.send(&Ask::json("POST", Origin::Public, PATH, &body)).await?;
    if answer.status() == 404 {
        return Err(Failure::Setup(NO_PEOPLE.to_owned()));
    }
    answer.expect(201, "registration").map(drop)
}

/// Registers so many, and waits until their passwords are hardened, so that it does not happen during the run.
pub(crate) async fn crowd_of(target: &Target, run: u64, count: usize) -> Result<Vec<Credentials>, Failure> {
    let mut agent = crowd::alone(target);
    let before = metrics::hardened(&mut agent).await?;
    let people = crowd::each(target, count, async |agent, number| {
        let person = person(run, number as u64);
        register(agent, &person).await?;
        Ok(person)
    })
    .await?;
    if let Some(before) = before {
        metrics::wait_for_hardened(&mut agent, before + count as u64, PATIENCE, &Nobody).await?;
    }
    Ok(people)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_of_two_runs_have_different_addresses() {
        assert_ne!(person(1, 7).name, person(2, 7).name);
        assert_eq!(person(0xab, 7).name, "person-7@00000000000000ab.example");
    }
}
