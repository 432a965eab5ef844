//! Password hashes that other systems made, verified once and then replaced.
//!
//! | form | where from |
//! |---|---|
//! | `$2a$…`, `$2b$…`, `$2y$…` | bcrypt; not `$2x$…`, of a faulty release |
//! | `bcrypt$$2b$…`, `bcrypt_sha256$$2b$…` | Django, the second of the SHA-256 of the password |
//! | `$argon2i$…`, `$argon2id$…` | Argon2 of version 19 or 16, also without one, with `argon2$` before it from Django, padded from Keycloak |
//! | `$pbkdf2-sha256$i=…,l=…$salt$hash` | PHC, with SHA-1, SHA-256 and SHA-512 |
//! | `$pbkdf2-sha256$29000$salt$hash` | passlib, also `$pbkdf2$…` for SHA-1 |
//! | `pbkdf2_sha256$iterations$salt$hash` | Django, also `pbkdf2_sha1$…` |
//! | `$scrypt$ln=…,r=…,p=…$salt$hash` | PHC and Kratos, which writes N itself after `ln=` |
//! | `scrypt$N$salt$r$p$hash` | Django |
//! | `$firescrypt$ln=…,r=…,p=…$salt$hash$separator$key` | Firebase |
//! | `$1$…`, `$5$…`, `$6$…`, `$md5-crypt$…`, `$sha256-crypt$…`, `$sha512-crypt$…` | crypt(3) and Kratos |
//! | `$P$…`, `$H$…`, `$S$…` | phpass: WordPress before 6.8, phpBB, Drupal 7 |
//! | `$wp$2y$…` | WordPress, of an HMAC of the password |
//! | `{SSHA}…`, `{SSHA256}…`, `{SSHA512}…` | LDAP, the names in any case |
//! | `{CRYPT}$…` | LDAP, before what crypt(3) makes |
//! | `$sha1$pf=…$salt$hash`, `$md5$…` | Kratos, also SHA-256 and SHA-512 |
//! | `$hmac-sha256$hash$key` | Kratos, with MD5, SHA-1, SHA-224, SHA-256, SHA-384 and SHA-512 |
//!
//! What a hash may cost is bounded where it is parsed. Verifying belongs on [`crate::hash_pool`].

mod crypt;
mod encoding;
mod phpass;
mod plain;
mod rounds;
mod scrypt;

use std::fmt;

use data_encoding::HEXLOWER;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::digest::sha256;
use crate::password_hash::{Argon2Params, HashMemory, PasswordHashError, StoredArgon2};
use crypt::{Md5Crypt, ShaCrypt};
use phpass::{Phpass, wordpress_password};
use plain::{Hmac, Salted};
use rounds::Pbkdf2;
use scrypt::{FirebaseScrypt, Scrypt};

/// A longer string is no hash, in bytes.
const MAX_STRING: usize = 1024;
/// How hard a bcrypt hash may be: 2¹⁶ rounds are about four seconds.
const BCRYPT_COST: std::ops::RangeInclusive<u32> = 4..=16;
/// The characters of the base64 of bcrypt, in the order of their values.
const BCRYPT_DIGITS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// What bcrypt reads of a password, in bytes.
const BCRYPT_PASSWORD: usize = 72;
/// Where the last digit of the salt is, after `$2b$05$`, and the last of all.
const BCRYPT_END_OF_SALT: usize = 28;
const BCRYPT_END: usize = 59;
/// Which field the version of Argon2 is: of `$argon2id$v=19$m=…`, the first is empty.
const ARGON2_VERSION: usize = 2;
/// Which the salt is, before the hash.
const ARGON2_SALT: usize = 4;

/// What is wrong with an imported hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ForeignHashError {
    /// None of the forms above.
    #[error("not a password hash in a form that is known")]
    UnknownForm,
    /// The form is known, what follows is not of it.
    #[error("the {0} hash is malformed")]
    Malformed(&'static str),
    /// `$2x$`: of releases of bcrypt that took bytes above 127 for negative, which nothing here does.
    #[error("a $2x$ hash is of a faulty bcrypt, which takes letters that are not ASCII for others")]
    FaultyBcrypt,
    /// It would keep a core busy for too long or need too much memory, or is too weak to be meant.
    #[error("the parameters of the {0} hash are out of bounds")]
    OutOfBounds(&'static str),
    /// It has no salt, and not the length that it has if its system made it: systems that take hashes of others keep them under this name, too.
    #[error("the {0} hash has no salt, and not the length of the key: it may be of another program")]
    NoSalt(&'static str),
    /// It needs more memory than is set aside for one.
    #[error("the hash needs more memory than is set aside for one")]
    TooMuchMemory,
    /// The system gives no memory for it now.
    #[error("there is no memory for the hash now")]
    NoMemory,
    /// The computation failed.
    #[error("the hash could not be computed")]
    Failed,
}

/// A password hash that another system made, within bounds.
#[derive(Clone)]
pub struct ForeignHash {
    text: String,
    scheme: Scheme,
}

#[derive(Clone)]
enum Scheme {
    /// Counts the first 72 bytes of a password only, as bcrypt does ([`ForeignHash::covers`]). As the library reads it.
    Bcrypt(String),
    /// Of the hexadecimal SHA-256 of the password, so that all of it counts. As the library reads it.
    BcryptSha256(String),
    /// Of an HMAC of the password, so that all of it counts. As the library reads it.
    WordPress(String),
    Argon2(Box<StoredArgon2>),
    Pbkdf2(Pbkdf2),
    Scrypt(Scrypt),
    Firebase(Box<FirebaseScrypt>),
    ShaCrypt(ShaCrypt),
    Md5Crypt(Md5Crypt),
    Phpass(Phpass),
    Salted(Salted),
    Hmac(Hmac),
}

impl ForeignHash {
    /// Takes a string apart.
    ///
    /// # Errors
    /// [`ForeignHashError`] if it is of no known form, malformed, or out of bounds.
    pub fn parse(raw: &str) -> Result<Self, ForeignHashError> {
        if raw.len() > MAX_STRING {
            return Err(ForeignHashError::UnknownForm);
        }
        Ok(Self { scheme: Scheme::parse(raw)?, text: raw.to_owned() })
    }

    /// The string as it was imported.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name of what made it, for counting.
    pub fn scheme(&self) -> &'static str {
        match &self.scheme {
            Scheme::Bcrypt(_) => "bcrypt",
            Scheme::BcryptSha256(_) => "bcrypt-sha256",
            Scheme::WordPress(_) => "wordpress",
            Scheme::Phpass(_) => "phpass",
            Scheme::Argon2(stored) if stored.is_argon2i() => "argon2i",
            Scheme::Argon2(_) => "argon2id",
            Scheme::Pbkdf2(_) => "pbkdf2",
            Scheme::Scrypt(_) => "scrypt",
            Scheme::Firebase(_) => "firescrypt",
            Scheme::ShaCrypt(_) => "sha-crypt",
            Scheme::Md5Crypt(_) => "md5-crypt",
            Scheme::Salted(_) => "salted-digest",
            Scheme::Hmac(_) => "hmac",
        }
    }

    /// How much memory it takes to verify it, in KiB; 0 if hardly any.
    pub const fn memory_kib(&self) -> u32 {
        match &self.scheme {
            Scheme::Argon2(stored) => stored.params().memory_kib(),
            Scheme::Scrypt(stored) => stored.memory_kib(),
            Scheme::Firebase(stored) => stored.memory_kib(),
            Scheme::Bcrypt(_)
            | Scheme::BcryptSha256(_)
            | Scheme::WordPress(_)
            | Scheme::Phpass(_)
            | Scheme::Pbkdf2(_)
            | Scheme::ShaCrypt(_)
            | Scheme::Md5Crypt(_)
            | Scheme::Salted(_)
            | Scheme::Hmac(_) => 0,
        }
    }

    /// What it costs, if it is Argon2.
    pub(crate) const fn argon2_params(&self) -> Option<Argon2Params> {
        match &self.scheme {
            Scheme::Argon2(stored) => Some(stored.params()),
            _ => None,
        }
    }

    /// Whether it tells `password` from all others. bcrypt passes over what follows the first 72 bytes, so that one which has as many is
    /// also the beginning of others; and a zero byte ends a password for some programs, and fills it up for others.
    pub fn covers(&self, password: &[u8]) -> bool {
        let is_read_whole = !matches!(self.scheme, Scheme::Bcrypt(_)) || password.len() < BCRYPT_PASSWORD;
        is_read_whole && !password.contains(&0)
    }

    /// Whether it is the hash of `password`; hashes are compared in constant time. Slow.
    ///
    /// # Errors
    /// [`ForeignHashError`] if `memory` is too little or the computation fails.
    pub fn verify(&self, password: &[u8], memory: &mut HashMemory) -> Result<bool, ForeignHashError> {
        match &self.scheme {
            Scheme::Bcrypt(stored) => verify_bcrypt(password, stored),
            Scheme::BcryptSha256(stored) => {
                let digest = Zeroizing::new(HEXLOWER.encode(&sha256(password)));
                verify_bcrypt(digest.as_bytes(), stored)
            }
            Scheme::WordPress(stored) => verify_bcrypt(wordpress_password(password).as_bytes(), stored),
            Scheme::Phpass(stored) => Ok(stored.matches(password)),
            Scheme::Argon2(stored) => stored.matches(password, memory).map_err(Into::into),
            Scheme::Pbkdf2(stored) => Ok(stored.matches(password)),
            Scheme::Scrypt(stored) => stored.matches(password, memory),
            Scheme::Firebase(stored) => stored.matches(password, memory),
            Scheme::ShaCrypt(stored) => Ok(stored.matches(password)),
            Scheme::Md5Crypt(stored) => Ok(stored.matches(password)),
            Scheme::Salted(stored) => Ok(stored.matches(password)),
            Scheme::Hmac(stored) => Ok(stored.matches(password)),
        }
    }
}

/// What made it, never what is in it.
impl fmt::Debug for ForeignHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignHash").field("scheme", &self.scheme()).finish_non_exhaustive()
    }
}

impl Scheme {
    fn parse(raw: &str) -> Result<Self, ForeignHashError> {
        if let Some(rest) = raw.strip_prefix('{') {
            return Self::parse_ldap(rest);
        }
        let (form, rest) = match raw.strip_prefix('$') {
            Some(fields) => fields.split_once('$').ok_or(ForeignHashError::UnknownForm)?,
            None => return Self::parse_django(raw),
        };
        match form {
            "2a" | "2b" | "2y" => parse_bcrypt(raw).map(Self::Bcrypt),
            "2x" => Err(ForeignHashError::FaultyBcrypt),
            "argon2i" | "argon2id" => parse_argon2(raw),
            "pbkdf2" | "pbkdf2-sha1" | "pbkdf2-sha256" | "pbkdf2-sha512" => {
                Pbkdf2::parse(form, rest).map(Self::Pbkdf2)
            }
            "scrypt" => Scrypt::parse(rest).map(Self::Scrypt),
            "firescrypt" => FirebaseScrypt::parse(rest).map(|parsed| Self::Firebase(Box::new(parsed))),
            "5" | "sha256-crypt" => ShaCrypt::parse_sha256(rest).map(Self::ShaCrypt),
            "6" | "sha512-crypt" => ShaCrypt::parse_sha512(rest).map(Self::ShaCrypt),
            "P" | "H" => Phpass::parse_md5(rest).map(Self::Phpass),
            "S" => Phpass::parse_drupal(rest).map(Self::Phpass),
            "wp" => parse_wordpress(rest).map(Self::WordPress),
            "1" | "md5-crypt" => Md5Crypt::parse(rest).map(Self::Md5Crypt),
            "md5" | "sha1" | "sha256" | "sha512" => Salted::parse_kratos(form, rest).map(Self::Salted),
            "hmac-md5" | "hmac-sha1" | "hmac-sha224" | "hmac-sha256" | "hmac-sha384" | "hmac-sha512" => {
                Hmac::parse(form, rest).map(Self::Hmac)
            }
            _ => Err(ForeignHashError::UnknownForm),
        }
    }

    /// Django puts the name of its hasher before everything.
    fn parse_django(raw: &str) -> Result<Self, ForeignHashError> {
        match raw.split_once('$') {
            Some(("pbkdf2_sha256" | "pbkdf2_sha1", _)) => Pbkdf2::parse_django(raw).map(Self::Pbkdf2),
            Some(("argon2", _)) => parse_argon2(raw.strip_prefix("argon2").unwrap_or(raw)),
            Some(("scrypt", rest)) => Scrypt::parse_django(rest).map(Self::Scrypt),
            Some(("bcrypt", rest)) => parse_named_bcrypt(rest).map(Self::Bcrypt),
            Some(("bcrypt_sha256", rest)) => parse_named_bcrypt(rest).map(Self::BcryptSha256),
            _ => Err(ForeignHashError::UnknownForm),
        }
    }

    /// What follows `{`: the name of a scheme, in any case, and what it made.
    fn parse_ldap(rest: &str) -> Result<Self, ForeignHashError> {
        let (name, value) = rest.split_once('}').ok_or(ForeignHashError::UnknownForm)?;
        if name.eq_ignore_ascii_case("CRYPT") && value.starts_with('$') {
            return Self::parse(value);
        }
        Salted::parse_ldap(name, value).map(Self::Salted)
    }
}

fn verify_bcrypt(password: &[u8], stored: &str) -> Result<bool, ForeignHashError> {
    bcrypt::verify(password, stored).map_err(|_| ForeignHashError::Failed)
}

/// What follows `bcrypt$`.
fn parse_named_bcrypt(rest: &str) -> Result<String, ForeignHashError> {
    let is_hash = ["$2a$", "$2b$", "$2y$"].iter().any(|form| rest.starts_with(form));
    if is_hash { parse_bcrypt(rest) } else { Err(ForeignHashError::UnknownForm) }
}

/// What follows `$wp$`.
fn parse_wordpress(rest: &str) -> Result<String, ForeignHashError> {
    if !rest.starts_with("2y$") {
        return Err(ForeignHashError::UnknownForm);
    }
    parse_bcrypt(&format!("${rest}"))
}

fn parse_bcrypt(raw: &str) -> Result<String, ForeignHashError> {
    let text = without_padding_bits(raw);
    let parts: bcrypt::HashParts = text.parse().map_err(|_| ForeignHashError::Malformed("bcrypt"))?;
    let fits = BCRYPT_COST.contains(&parts.get_cost());
    if fits { Ok(text) } else { Err(ForeignHashError::OutOfBounds("bcrypt")) }
}

/// A bcrypt hash without the bits that stand for nothing: the last digit of the salt has four of them, that of the checksum
/// two. bcrypt passes over them and old releases of passlib set them, but the library takes no digit that has any.
fn without_padding_bits(raw: &str) -> String {
    let cleared = raw.char_indices().map(|(place, digit)| match place {
        BCRYPT_END_OF_SALT => with_bits(digit, 0b11_0000),
        BCRYPT_END => with_bits(digit, 0b11_1100),
        _ => digit,
    });
    cleared.collect()
}

/// The digit that has of the bits of this one only these.
fn with_bits(digit: char, bits: usize) -> char {
    let value = BCRYPT_DIGITS.iter().position(|known| char::from(*known) == digit);
    let kept = value.and_then(|value| BCRYPT_DIGITS.get(value & bits));
    kept.map_or(digit, |digit| char::from(*digit))
}

fn parse_argon2(phc: &str) -> Result<Scheme, ForeignHashError> {
    Ok(Scheme::Argon2(Box::new(StoredArgon2::parse_foreign(&canonical_argon2(phc))?)))
}

/// A PHC string with its version, which was left out while 16 was the only one, and without padding at the ends of salt and hash: it has
/// none, but what Keycloak keeps of either does.
fn canonical_argon2(phc: &str) -> String {
    let mut fields: Vec<&str> = phc.split('$').collect();
    if fields.get(ARGON2_VERSION).is_some_and(|field| field.starts_with("m=")) {
        fields.insert(ARGON2_VERSION, "v=16");
    }
    for field in fields.iter_mut().skip(ARGON2_SALT) {
        *field = field.trim_end_matches('=');
    }
    fields.join("$")
}

impl From<PasswordHashError> for ForeignHashError {
    fn from(error: PasswordHashError) -> Self {
        match error {
            PasswordHashError::Malformed => Self::Malformed("Argon2"),
            PasswordHashError::OutOfBounds | PasswordHashError::Salt => Self::OutOfBounds("Argon2"),
            PasswordHashError::TooMuchMemory => Self::TooMuchMemory,
            PasswordHashError::NoMemory => Self::NoMemory,
            PasswordHashError::Failed => Self::Failed,
        }
    }
}
