//! Whether the user is to be asked again.

use std::str::FromStr;

use thiserror::Error;

/// The `prompt` parameter (OpenID Connect Core §3.1.2.1) as the set it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a set, each member of which may be there or not")]
pub struct Prompt {
    /// No page may be shown.
    pub none: bool,
    /// The user logs in again.
    pub login: bool,
    /// The user consents again.
    pub consent: bool,
    /// The user picks an account.
    pub select_account: bool,
    /// The user registers (Initiating User Registration via OpenID Connect 1.0).
    pub create: bool,
}

/// The text is no `prompt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidPrompt {
    /// A value that is not registered.
    #[error("the prompt has an unknown value")]
    Unknown,
    /// `none` beside another value.
    #[error("the prompt `none` must stand alone")]
    NoneNotAlone,
}

impl Prompt {
    /// The set as one byte.
    pub const fn bits(self) -> u8 {
        (self.none as u8)
            | (self.login as u8) << 1
            | (self.consent as u8) << 2
            | (self.select_account as u8) << 3
            | (self.create as u8) << 4
    }

    /// The set that [`Prompt::bits`] told of.
    pub const fn from_bits(bits: u8) -> Self {
        Self {
            none: bits & 1 != 0,
            login: bits & 2 != 0,
            consent: bits & 4 != 0,
            select_account: bits & 8 != 0,
            create: bits & 16 != 0,
        }
    }
}

impl FromStr for Prompt {
    type Err = InvalidPrompt;
    fn from_str(raw: &str) -> Result<Self, InvalidPrompt> {
        let mut prompt = Self::default();
        for value in raw.split(' ').filter(|value| !value.is_empty()) {
            match value {
                "none" => prompt.none = true,
                "login" => prompt.login = true,
                "consent" => prompt.consent = true,
                "select_account" => prompt.select_account = true,
                // Hydra says `registration`.
                "create" | "registration" => prompt.create = true,
                _ => return Err(InvalidPrompt::Unknown),
            }
        }
        if prompt.none && prompt.bits() != 1 {
            return Err(InvalidPrompt::NoneNotAlone);
        }
        Ok(prompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_stands_alone() {
        assert!("none".parse::<Prompt>().unwrap().none);
        assert_eq!("none login".parse::<Prompt>(), Err(InvalidPrompt::NoneNotAlone));
        assert_eq!("sometimes".parse::<Prompt>(), Err(InvalidPrompt::Unknown));
    }

    #[test]
    fn hydras_registration_is_the_standards_create() {
        assert_eq!("registration".parse::<Prompt>(), "create".parse());
    }

    #[test]
    fn a_prompt_survives_its_byte() {
        for bits in 0..32 {
            assert_eq!(Prompt::from_bits(bits).bits(), bits);
        }
    }
}
