//! What else is sealed of people: second factors, and mails that are under way.

use sluice_commit::StoreError;
use sluice_crypto::SealedBy;
use sluice_identity::resealed::{ResealedRows, SealedCounts};

use super::credentials::worst;
use crate::app::KeyMaterial;
use crate::cli::{Console, Exit};
use crate::command::installation::Installation;
use crate::command::{fail, print};

/// What lines are about.
const FACTORS: &str = "second factors";
const RECOVERY_CODES: &str = "recovery codes";
const MAILS: &str = "mails";

/// Prints how many rows each secret sealed. Looks at all of them.
pub(super) async fn count(installation: &Installation, console: &mut Console<'_>) -> Exit {
    match look(installation).await {
        Ok(lines) => lines.iter().map(|line| print(console, line)).fold(Exit::Success, worst),
        Err(error) => fail(console, &error),
    }
}

async fn look(installation: &Installation) -> Result<Vec<String>, StoreError> {
    let factors = installation.sealed_factors();
    let mut lines = sealed_lines(FACTORS, &factors.count().await?, &installation.secrets);
    match factors.recovery_codes().await? {
        0 => {}
        codes => lines.push(recovery_code_line(codes)),
    }
    let mails = installation.sealed_mails().count().await?;
    lines.extend(sealed_lines(MAILS, &mails, &installation.secrets));
    Ok(lines)
}

/// One line for each secret that sealed something, and one for what is broken.
pub(super) fn sealed_lines(what: &str, counts: &SealedCounts, secrets: &KeyMaterial) -> Vec<String> {
    let line = |(by, count): (&SealedBy, &u64)| match by {
        SealedBy::Known(0) => {
            format!("{what:<16} {count} sealed with {}, which seals", secrets.name_at_rest(0))
        }
        SealedBy::Known(place) => {
            let name = secrets.name_at_rest(*place);
            format!("{what:<16} {count} sealed with {name}: `sluice secrets reseal` moves them")
        }
        SealedBy::Unknown => format!("{what:<16} {count} sealed with a secret that is not configured"),
        SealedBy::Broken => format!("{what:<16} {count} broken: no secret opens them"),
    };
    counts.iter().map(line).collect()
}

fn recovery_code_line(codes: u64) -> String {
    format!(
        "{RECOVERY_CODES:<16} {codes} hashed with the secret that sealed when they were made: they cannot be moved, and are \
         lost with it"
    )
}

/// Seals what a former secret sealed.
pub(super) async fn reseal(installation: &Installation, name: &str, console: &mut Console<'_>) -> Exit {
    let factors = match installation.sealed_factors().reseal().await {
        Ok(done) => told(FACTORS, &done, name, console),
        Err(error) => fail(console, &error),
    };
    let mails = match installation.sealed_mails().reseal().await {
        Ok(done) => told(MAILS, &done, name, console),
        Err(error) => fail(console, &error),
    };
    worst(factors, mails)
}

fn told(what: &str, done: &ResealedRows, name: &str, console: &mut Console<'_>) -> Exit {
    let ResealedRows { resealed, unchanged, changed, unopened } = *done;
    if unopened > 0 {
        console.say(&format!("{unopened} {what} open with none of the secrets"));
    }
    if changed > 0 {
        console.say(&format!("{changed} {what} changed meanwhile: run this again"));
    }
    let line = format!("Sealed {resealed} {what} with {name}; it had sealed {unchanged} already.");
    let told = if resealed + unchanged > 0 { print(console, &line) } else { Exit::Success };
    if unopened > 0 || changed > 0 { Exit::Failure } else { told }
}
