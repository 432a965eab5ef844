//! Whether the server keeps what it promised: it is asked through its API.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::promises::{Chain, Promises, Redeemed, Registered};
use super::report::is_cut_off;
use crate::driver::{Agent, Ask, Failure, Origin};
use crate::error::BenchError;
use crate::scenario::{Again, Scenario, each};
use crate::target::Target;

/// How many are asked about at a time.
const LANES: usize = 16;
/// A revocation is heard of by other nodes, and after a start, within this time.
const HEARD_WITHIN: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 5_000 });
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A server that has just been started answers everybody within this time.
const ANSWERS_WITHIN: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 30_000 });

/// A kind of promise, and how many of them were kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// What was promised.
    pub what: String,
    /// How many.
    pub promised: usize,
    /// Of those, how many the server does not know of any more, or answers wrongly.
    pub lost: usize,
    /// Of those, how many worked twice that work once.
    pub twice: usize,
    /// How many of the lost and doubled are there to be looked into, by a beginning that names them.
    pub examples: Vec<String>,
}

impl Kept {
    /// Whether all were.
    pub const fn holds(&self) -> bool {
        self.lost == 0 && self.twice == 0
    }

    /// Counts what came of one promise, and names it if it was broken.
    fn note(&mut self, finding: Finding, name: &str) {
        let (count, said) = match finding {
            Finding::Kept => return,
            Finding::Lost => (&mut self.lost, "lost"),
            Finding::Twice => (&mut self.twice, "twice"),
        };
        *count += 1;
        if self.examples.len() < EXAMPLES {
            let beginning: String = name.chars().take(BEGINNING).collect();
            self.examples.push(format!("{said}: {beginning}"));
        }
    }

    pub(super) fn line(&self) -> String {
        let holds = if self.holds() { "ok" } else { "BROKEN" };
        let Self { what, promised, lost, twice, .. } = self;
        let mut line = format!("{holds:>8}  {what}: {promised} promised, {lost} lost, {twice} twice\n");
        line.extend(self.examples.iter().map(|example| format!("            {example}…\n")));
        line
    }
}

/// What is the matter with a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    Kept,
    Lost,
    Twice,
}

const EXAMPLES: usize = 5;
/// A token is not told whole.
const BEGINNING: usize = 24;

/// Asks about all of them.
pub(super) async fn all(
    target: &Target,
    scenario: &dyn Scenario,
    promises: Promises,
) -> Result<Vec<Kept>, BenchError> {
    let asker = Asker { target };
    let name = |text: &String| text.clone();
    let mut kept = vec![
        asker
            .about(
                "people registered",
                &promises.registered,
                |one| one.email.clone(),
                async |agent, one| person(agent, &one.email).await,
            )
            .await?,
        asker
            .about(
                "people of a sample who log in",
                &promises.sample(),
                |one| one.email.clone(),
                async |agent, one| logs_in(agent, one).await,
            )
            .await?,
        asker.about("clients made", &promises.clients, name, async |a, id| client(a, id).await).await?,
        asker
            .about("tokens revoked", &promises.revoked, name, async |a, token| revoked(a, token).await)
            .await?,
        asker
            .about("tokens left alone", &promises.left_alone, name, async |a, token| holds(a, token).await)
            .await?,
    ];
    let mut used = vec![
        asker
            .about(
                "codes redeemed",
                &promises.redeemed,
                |one| one.code.clone(),
                async |agent, one| redeemed(agent, scenario, one).await,
            )
            .await?,
        asker
            .about("chains of rotated refresh tokens", &promises.chains, Chain::name, async |agent, chain| {
                rotated(agent, scenario, chain).await
            })
            .await?,
    ];
    for (used, twice) in used.iter_mut().zip([&promises.redeemed_twice, &promises.rotated_twice]) {
        for name in twice {
            used.note(Finding::Twice, name);
        }
    }
    kept.append(&mut used);
    kept.retain(|kept| kept.promised > 0);
    Ok(kept)
}

/// Has each user of a scenario that only reads do it once more: what is read was there before the first kill.
pub(super) async fn reads(
    target: &Target,
    scenario: &dyn Scenario,
    users: usize,
) -> Result<Kept, BenchError> {
    let answers =
        each(target, users, async |agent, user| Ok(wrong(agent, scenario, user as u64).await)).await?;
    let mut kept = Kept { what: "answers as before".to_owned(), promised: answers.len(), ..Kept::default() };
    for wrong in answers.iter().flatten() {
        kept.note(Finding::Lost, wrong);
    }
    Ok(kept)
}

/// What is wrong with the answer to an operation, if something is.
async fn wrong(agent: &mut Agent, scenario: &dyn Scenario, turn: u64) -> Option<String> {
    let began = Instant::now();
    loop {
        let failure = scenario.operate(agent, turn).await.err()?.to_string();
        if !is_cut_off(&failure) || began.elapsed() >= ANSWERS_WITHIN {
            return Some(failure);
        }
        sleep(LOOK_EVERY).await;
    }
}

struct Asker<'a> {
    target: &'a Target,
}

impl Asker<'_> {
    async fn about<T>(
        &self,
        what: &str,
        promised: &[T],
        name: impl Fn(&T) -> String,
        ask: impl AsyncFn(&mut Agent, &T) -> Result<Finding, Failure>,
    ) -> Result<Kept, Failure> {
        let ask = &ask;
        let lanes = (0..LANES).map(async |lane| {
            let mut found = Vec::new();
            let mut agent = Agent::new(lane, Arc::clone(&self.target.endpoints), None);
            for one in promised.iter().skip(lane).step_by(LANES) {
                found.push((one, ask(&mut agent, one).await?));
            }
            Ok::<_, Failure>(found)
        });
        let mut kept = Kept { what: what.to_owned(), promised: promised.len(), ..Kept::default() };
        for (one, finding) in try_join_all(lanes).await?.into_iter().flatten() {
            kept.note(finding, &name(one));
        }
        Ok(kept)
    }
}

impl Chain {
    fn name(&self) -> String {
        self.tokens.last().cloned().unwrap_or_default()
    }
}

/// Somebody is found by address, once.
async fn person(agent: &mut Agent, email: &str) -> Result<Finding, Failure> {
    const STEP: &str = "identities";
    let path = format!("/admin/identities?email={}", encoded(email));
    let found: Vec<serde_json::Value> =
        agent.send(&Ask::get(Origin::Admin, &path)).await?.expect(200, STEP)?.json(STEP)?;
    Ok(match found.len() {
        0 => Finding::Lost,
        1 => Finding::Kept,
        _ => Finding::Twice,
    })
}

/// Somebody gets in with the password of the registration, hardened by now or not. A login in whose middle the password is hardened may
/// be told to come again.
async fn logs_in(agent: &mut Agent, one: &Registered) -> Result<Finding, Failure> {
    let Registered { email, password } = one;
    let body = serde_json::json!({ "email": email, "password": password }).to_string();
    let began = Instant::now();
    loop {
        let answer = agent.send(&Ask::json("POST", Origin::Public, "/auth/login", &body)).await?;
        match answer.status() {
            200 => return Ok(Finding::Kept),
            503 if began.elapsed() < HEARD_WITHIN => {}
            _ => return Ok(Finding::Lost),
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn client(agent: &mut Agent, id: &str) -> Result<Finding, Failure> {
    match agent.send(&Ask::get(Origin::Admin, &format!("/admin/clients/{}", encoded(id)))).await?.status() {
        200 => Ok(Finding::Kept),
        404 => Ok(Finding::Lost),
        status => Err(Failure::Status { step: "client", status }),
    }
}

async fn holds(agent: &mut Agent, token: &str) -> Result<Finding, Failure> {
    Ok(if is_active(agent, token).await? { Finding::Kept } else { Finding::Lost })
}

async fn revoked(agent: &mut Agent, token: &str) -> Result<Finding, Failure> {
    let began = Instant::now();
    while is_active(agent, token).await? {
        if began.elapsed() > HEARD_WITHIN {
            return Ok(Finding::Lost);
        }
        sleep(LOOK_EVERY).await;
    }
    Ok(Finding::Kept)
}

/// Its tokens hold, its refresh token is exchanged, and the code gets nothing any more. The last of these costs the tokens (RFC 6749
/// section 4.1.2), so that it comes last.
async fn redeemed(agent: &mut Agent, scenario: &dyn Scenario, one: &Redeemed) -> Result<Finding, Failure> {
    agent.user = one.user;
    if !is_active(agent, &one.access_token).await? {
        return Ok(Finding::Lost);
    }
    if let Some(token) = &one.refresh_token
        && (!is_active(agent, token).await?
            || scenario.again(agent, Again::RefreshToken(token)).await? == Some(false))
    {
        return Ok(Finding::Lost);
    }
    let again = scenario.again(agent, Again::Code(&one.code)).await?;
    Ok(if again == Some(true) { Finding::Twice } else { Finding::Kept })
}

/// The newest is exchanged; those before its predecessor are not active. The predecessor is answered with the same pair for a while, so
/// that the oldest gets nothing only where there is one between both. That it is tried costs the newest (RFC 9700 section 4.14), so that
/// it comes last.
async fn rotated(agent: &mut Agent, scenario: &dyn Scenario, chain: &Chain) -> Result<Finding, Failure> {
    agent.user = chain.user;
    let Some((newest, spent)) = chain.tokens.split_last() else { return Ok(Finding::Kept) };
    if !is_active(agent, newest).await? {
        return Ok(Finding::Lost);
    }
    for token in spent.iter().rev().skip(1) {
        if is_active(agent, token).await? {
            return Ok(Finding::Twice);
        }
    }
    if scenario.again(agent, Again::Rotated(newest)).await? == Some(false) {
        return Ok(Finding::Lost);
    }
    let [oldest, _, ..] = spent else { return Ok(Finding::Kept) };
    let again = scenario.again(agent, Again::Rotated(oldest)).await?;
    Ok(if again == Some(true) { Finding::Twice } else { Finding::Kept })
}

async fn is_active(agent: &mut Agent, token: &str) -> Result<bool, Failure> {
    #[derive(Deserialize)]
    struct Said {
        active: bool,
    }
    const STEP: &str = "introspection";
    let form = format!("token={}", encoded(token));
    let answer =
        agent.send(&Ask::form(Origin::Admin, "/admin/oauth2/introspect", &form)).await?.expect(200, STEP)?;
    Ok(answer.json::<Said>(STEP)?.active)
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
