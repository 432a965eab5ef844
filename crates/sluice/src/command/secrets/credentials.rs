//! What protects people's passwords: which secrets they need, and sealing them again.

use sluice_crypto::credential::PepperId;
use sluice_identity::credential::{CredentialSecrets, StoredCredentials};

use super::tell_resealed;
use crate::app::KeyMaterial;
use crate::cli::{Console, Exit};
use crate::command::{fail, print};

/// What a line is about.
const PASSWORDS: &str = "passwords";

/// The names of the peppers that are known, the first one first.
pub(super) struct PepperNames {
    ids: Vec<PepperId>,
    /// How many of them are not derived from `secrets.system`.
    own: usize,
}

impl PepperNames {
    pub(super) const fn new(ids: Vec<PepperId>, own: usize) -> Self {
        Self { ids, own }
    }

    fn line(&self, pepper: PepperId, count: u64) -> String {
        let Some(place) = self.ids.iter().position(|known| *known == pepper) else {
            return format!(
                "{PASSWORDS:<16} {count} hashed with the pepper {pepper}, which is not configured"
            );
        };
        let name = match place.checked_sub(self.own) {
            None => format!("secrets.pepper #{}", place + 1),
            Some(derived) => format!("secrets.system #{}", derived + 1),
        };
        let use_of_it = if place == 0 { "which hashes" } else { "needed until those people have logged in" };
        format!("{PASSWORDS:<16} {count} hashed with {name}, {use_of_it}")
    }
}

/// Prints how many passwords need which secret. Looks at everybody.
pub(super) async fn count(
    credentials: &StoredCredentials,
    (secrets, peppers): (&KeyMaterial, &PepperNames),
    console: &mut Console<'_>,
) -> Exit {
    let found = match credentials.count().await {
        Ok(found) => found,
        Err(error) => return fail(console, &error),
    };
    lines(&found, secrets, peppers).iter().map(|line| print(console, line)).fold(Exit::Success, worst)
}

fn lines(found: &CredentialSecrets, secrets: &KeyMaterial, peppers: &PepperNames) -> Vec<String> {
    let mut lines: Vec<String> =
        found.peppers.iter().map(|(pepper, count)| peppers.line(*pepper, *count)).collect();
    lines.extend(found.storage.iter().map(|(place, count)| {
        let name = secrets.name_at_rest(*place);
        match place {
            0 => format!("{PASSWORDS:<16} {count} sealed with {name}, which seals"),
            _ => format!("{PASSWORDS:<16} {count} sealed with {name}: `sluice secrets reseal` moves them"),
        }
    }));
    if found.unopened > 0 {
        lines.push(format!("{PASSWORDS:<16} {} sealed with a secret that is not configured", found.unopened));
    }
    if found.unreadable > 0 {
        lines.push(format!("{PASSWORDS:<16} {} cannot be read", found.unreadable));
    }
    lines
}

/// Seals what a former secret sealed.
pub(super) async fn reseal(credentials: &StoredCredentials, name: &str, console: &mut Console<'_>) -> Exit {
    let done = match credentials.reseal().await {
        Ok(done) => done,
        Err(error) => return fail(console, &error),
    };
    tell_resealed(PASSWORDS, done.resealed);
    for id in &done.named {
        console.say(&format!("the password of the person `{id}` opens with none of the secrets"));
    }
    let more = done.unopened.saturating_sub(u64::try_from(done.named.len()).unwrap_or(u64::MAX));
    if more > 0 {
        console.say(&format!("nor do those of {more} others"));
    }
    if done.changed > 0 {
        console.say(&format!("{} passwords changed meanwhile: run this again", done.changed));
    }
    let (resealed, unchanged) = (done.resealed, done.unchanged);
    let told = if resealed + unchanged > 0 {
        print(
            console,
            &format!("Sealed {resealed} passwords with {name}; it had sealed {unchanged} already."),
        )
    } else {
        Exit::Success
    };
    if done.unopened > 0 || done.changed > 0 { Exit::Failure } else { told }
}

/// A failure, if one of them is.
pub(super) fn worst(one: Exit, other: Exit) -> Exit {
    if one == Exit::Success { other } else { one }
}
