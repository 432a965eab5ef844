//! What else is sealed of people: second factors, and mails that are under way.

use sluice_commit::StoreError;
use sluice_crypto::SealedBy;
use sluice_identity::factor::RecoveryCodeCounts;
use sluice_identity::resealed::{ResealedRows, SealedCounts};

use super::credentials::worst;
use super::tell_resealed;
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
    lines.extend(recovery_code_lines(&factors.recovery_codes().await?, &installation.secrets));
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

/// One line for each secret that recovery codes were hashed with. They cannot be moved.
fn recovery_code_lines(counts: &RecoveryCodeCounts, secrets: &KeyMaterial) -> Vec<String> {
    let keys = secrets.recovery_codes();
    let place_of = |id| keys.as_ref().and_then(|keys| keys.place_of(id));
    let hashed = |(key, count): (&Option<u8>, &u64)| match key.map(|id| (id, place_of(id))) {
        Some((_, Some(0))) => format!("{count} hashed with {}, which hashes", secrets.name_at_rest(0)),
        Some((_, Some(place))) => {
            format!("{count} hashed with {}, and lost with it", secrets.name_at_rest(place))
        }
        Some((id, None)) => {
            format!("{count} hashed with the key {id:02x} of a secret that is not configured, and refused")
        }
        None => format!("{count} hashed with a secret that was not noted: the one that sealed then"),
    };
    counts.iter().map(|codes| format!("{RECOVERY_CODES:<16} {}", hashed(codes))).collect()
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
    tell_resealed(what, resealed);
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
