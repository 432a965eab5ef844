//! Somebody who stole the database, knows every way in which passwords are kept badly, and has a dictionary.

use aws_lc_rs::hmac;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use md5::{Digest, Md5};
use sluice_crypto::digest::{sha1, sha256, sha512};
use sluice_crypto::foreign_hash::ForeignHash;
use sluice_crypto::password_hash::HashMemory;

/// How much of a digest is looked for first, in bytes.
const WINDOW: usize = 8;
/// Shorter runs of hexadecimal digits or Base64 say nothing, in characters.
const RUN: usize = 16;
/// The longest hash in the form of another program that is looked for, in bytes.
const LONGEST: usize = 200;
/// What such hashes begin with.
const MARKS: &[&str] =
    &["$2", "$argon2", "$pbkdf2", "pbkdf2_", "$scrypt", "$1$", "$5$", "$6$", "{S", "$md5", "$sha"];

/// What is public of a person.
pub(super) struct Public {
    /// What may have been used as a salt or as a key.
    pub(super) known: Vec<Vec<u8>>,
    /// What the row of the person holds.
    pub(super) credential: String,
}

/// A dump, and what is in it.
pub(super) struct Loot {
    text: String,
    /// The dump as it is, and what its hexadecimal and Base64 stand for.
    blobs: Vec<Vec<u8>>,
    /// The beginnings of everything in them, sorted.
    windows: Vec<[u8; WINDOW]>,
    /// Whatever looks like the hash of another program.
    hashes: Vec<ForeignHash>,
}

impl Loot {
    pub(super) fn of(dump: &[u8]) -> Self {
        let text = String::from_utf8_lossy(dump).into_owned();
        let mut blobs = vec![dump.to_vec()];
        blobs.extend(
            runs(&text, |c| c.is_ascii_hexdigit())
                .flat_map(|run| decoded(run, 2, |run| hex::decode(&run[..run.len() / 2 * 2]).ok())),
        );
        let lenient = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::RequireNone)
            .with_decode_allow_trailing_bits(true);
        let engines =
            [&alphabet::STANDARD, &alphabet::URL_SAFE].map(|alphabet| GeneralPurpose::new(alphabet, lenient));
        for (engine, others) in engines.into_iter().zip(["+/", "-_"]) {
            let is_of = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            // A single digit behind the last four is none.
            let whole = |run: &str| run.len() - usize::from(run.len() % 4 == 1);
            let decode = |run: &str| engine.decode(&run[..whole(run)]).ok();
            blobs.extend(runs(&text, is_of).flat_map(|run| decoded(run, 4, decode)));
        }
        let mut windows: Vec<_> = blobs
            .iter()
            .flat_map(|blob| blob.windows(WINDOW))
            .map(|window| window.try_into().unwrap())
            .collect();
        windows.sort_unstable();
        windows.dedup();
        let hashes = hashes_in(&text);
        Self { text, blobs, windows, hashes }
    }

    /// The hashes in the form of another program that there are to try.
    pub(super) fn hashes(&self) -> impl Iterator<Item = &str> {
        self.hashes.iter().map(ForeignHash::as_str)
    }

    /// Whether these bytes are in the dump, as they are, in hexadecimal or in Base64.
    pub(super) fn holds(&self, bytes: &[u8]) -> bool {
        let Some(window) = bytes.first_chunk::<WINDOW>() else { return false };
        self.windows.binary_search(window).is_ok()
            && self.blobs.iter().any(|blob| blob.windows(bytes.len()).any(|found| found == bytes))
    }

    /// How the password can be told from the dump; nothing if it cannot.
    pub(super) fn tells(&self, password: &str, person: &Public) -> Option<String> {
        if self.text.contains(password) || self.holds(password.as_bytes()) {
            return Some("plain".to_owned());
        }
        let salts = salts_of(&person.credential);
        guesses(password.as_bytes(), &[&person.known[..], &salts].concat())
            .into_iter()
            .find_map(|(how, guess)| self.holds(&guess).then_some(how))
    }

    /// Which slow hash in the dump is that of the password, or of what somebody without a secret makes of it.
    pub(super) fn slowly_tells(&self, password: &str, people: &[Public]) -> Option<String> {
        let mut memory = HashMemory::with_limit(64 * 1024);
        for hash in &self.hashes {
            let salt = salts_of(hash.as_str()).pop().unwrap_or_default();
            let owners = people.iter().filter(|person| person.credential.contains(hash.as_str()));
            let keys: Vec<_> = owners.flat_map(|person| &person.known).collect();
            for inner in inner(password.as_bytes(), &salt, &keys) {
                if hash.verify(&inner, &mut memory).unwrap_or(false) {
                    return Some(hash.as_str().to_owned());
                }
            }
        }
        None
    }
}

/// What stands in the open beside a hash: the id of its key, its salt, and what the salt stands for.
fn salts_of(credential: &str) -> Vec<Vec<u8>> {
    let parts: Vec<_> = credential.split('$').collect();
    let Some((_, salt)) =
        parts.split_last().and_then(|(_, before)| before.split_last()).map(|(salt, rest)| (rest, salt))
    else {
        return Vec::new();
    };
    let raw = STANDARD_NO_PAD.decode(salt).ok();
    let key = parts.get(1).map(|key| key.as_bytes().to_vec());
    key.into_iter().chain([salt.as_bytes().to_vec()]).chain(raw).collect()
}

/// Maximal runs of such characters that are long enough to say something.
fn runs(text: &str, is_of: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !is_of(c)).filter(|run| run.len() >= RUN)
}

/// What a run may stand for, wherever in it that begins.
fn decoded(run: &str, places: usize, decode: impl Fn(&str) -> Option<Vec<u8>>) -> Vec<Vec<u8>> {
    (0..places).filter_map(|place| decode(&run[place..])).collect()
}

/// Whatever can be read as the hash of another program, wherever it begins and ends.
fn hashes_in(text: &str) -> Vec<ForeignHash> {
    let mut found: Vec<ForeignHash> = Vec::new();
    for mark in MARKS {
        for (place, _) in text.match_indices(mark) {
            let rest: String =
                text[place..].chars().take_while(char::is_ascii_graphic).take(LONGEST).collect();
            let longest = (mark.len()..=rest.len()).rev().find_map(|end| {
                // A hash has 32 bytes: what stands behind it is not of it.
                let is_whole = !mark.starts_with("$argon2")
                    || rest[..end].rsplit('$').next().is_some_and(|hash| hash.len() == 43);
                is_whole.then(|| ForeignHash::parse(&rest[..end]).ok()).flatten()
            });
            found.extend(longest.filter(|hash| found.iter().all(|other| other.as_str() != hash.as_str())));
        }
    }
    found
}

fn hmacs(key: &[u8], message: &[u8]) -> [Vec<u8>; 3] {
    [hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, hmac::HMAC_SHA256, hmac::HMAC_SHA512]
        .map(|algorithm| hmac::sign(&hmac::Key::new(algorithm, key), message).as_ref().to_vec())
}

fn digests(message: &[u8]) -> [Vec<u8>; 4] {
    [sha1(message).to_vec(), sha256(message).to_vec(), sha512(message), Md5::digest(message).to_vec()]
}

/// Every fast hash of a password that can be made of what is public, and how.
fn guesses(password: &[u8], known: &[Vec<u8>]) -> Vec<(String, Vec<u8>)> {
    let mut messages = vec![("alone".to_owned(), password.to_vec())];
    let mut guesses = Vec::new();
    for (place, salt) in known.iter().enumerate() {
        for between in ["", ":", "$"] {
            let joined = |first: &[u8], second: &[u8]| [first, between.as_bytes(), second].concat();
            messages.push((format!("with {place} behind"), joined(password, salt)));
            messages.push((format!("with {place} before"), joined(salt, password)));
        }
        for mac in hmacs(salt, password).into_iter().chain(hmacs(password, salt)) {
            guesses.push((format!("HMAC with {place}"), mac));
        }
    }
    guesses.extend(hmacs(b"", password).into_iter().map(|mac| ("HMAC without a key".to_owned(), mac)));
    for (how, message) in messages {
        for digest in digests(&message) {
            guesses.push((
                format!("digest of the digest {how}"),
                sha256(hex::encode(&digest).as_bytes()).to_vec(),
            ));
            guesses.push((format!("digest {how}"), digest));
        }
    }
    guesses
}

/// What may be inside a slow hash: the password, or a fast hash of it.
fn inner(password: &[u8], salt: &[u8], keys: &[&Vec<u8>]) -> Vec<Vec<u8>> {
    let salted = [salt, password].concat();
    let mut all = vec![password.to_vec(), sha256(password).to_vec(), sha256(&salted).to_vec()];
    all.push([password, salt].concat());
    all.push(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b""), &salted).as_ref().to_vec());
    all.push(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt), password).as_ref().to_vec());
    for key in keys {
        all.push(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), &salted).as_ref().to_vec());
    }
    all
}
