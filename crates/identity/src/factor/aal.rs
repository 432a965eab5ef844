//! How well somebody proved who it is: `acr`, and by which methods: `amr` (RFC 8176).

use super::proof::Shown;

/// A level of assurance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Aal {
    /// One factor.
    #[default]
    Aal1,
    /// Two of them, or one that is two: a passkey whose authenticator verified its user.
    Aal2,
}

impl Aal {
    /// The `acr` value that tokens carry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
        }
    }

    /// The level that an `acr` value names: ours, or the URIs of the United States' federal services, which are widely
    /// used. Tokens answer with ours.
    pub fn from_acr(acr: &str) -> Option<Self> {
        match acr {
            "aal1" | "http://idmanagement.gov/ns/assurance/aal/1" => Some(Self::Aal1),
            "aal2" | "http://idmanagement.gov/ns/assurance/aal/2" => Some(Self::Aal2),
            _ => None,
        }
    }

    /// What `acr_values` ask for at least (`OpenID` Connect Core §3.1.2.1): the lowest of those that are known, since each of
    /// them will do. Who has a second factor is asked for it in any case, so nobody gets less than they can. Unknown
    /// values ask for nothing.
    pub fn from_acr_values<T: AsRef<str>>(values: &[T]) -> Self {
        let known = values.iter().filter_map(|value| Self::from_acr(value.as_ref()));
        known.min().unwrap_or_default()
    }

    /// The level of somebody who proved it by these methods.
    pub fn reached_by<T: AsRef<str>>(amr: &[T]) -> Self {
        if amr.iter().any(|method| method.as_ref() == "mfa") { Self::Aal2 } else { Self::Aal1 }
    }
}

/// Whether somebody who reached `acr` need not prove more for `wanted`. An unknown value reached nothing.
pub fn satisfies(acr: &str, wanted: Aal) -> bool {
    Aal::from_acr(acr).is_some_and(|reached| reached >= wanted)
}

/// Whether a passkey is among the methods.
pub fn shows_passkey<T: AsRef<str>>(amr: &[T]) -> bool {
    amr.iter().any(|method| matches!(method.as_ref(), "hwk" | "swk"))
}

/// The methods of somebody who showed a second factor after `first`.
pub fn with_second(first: &[String], shown: Shown) -> Vec<String> {
    let second = match shown {
        Shown::Totp => Some("otp"),
        // RFC 8176 has no value for it.
        Shown::RecoveryCode => None,
        Shown::Passkey(proof) => Some(proof.method()),
    };
    let mut amr = first.to_vec();
    for method in second.into_iter().chain(["mfa"]) {
        if !amr.iter().any(|known| known == method) {
            amr.push(method.to_owned());
        }
    }
    amr
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::passkey::PasskeyProof;

    #[test]
    fn the_least_that_is_asked_for_will_do() {
        let asked: [(&[&str], Aal); 6] = [
            (&[], Aal::Aal1),
            (&["aal2"], Aal::Aal2),
            (&["aal2", "aal1"], Aal::Aal1),
            (&["phr", "aal2"], Aal::Aal2),
            (&["0", "AAL2"], Aal::Aal1),
            (&["http://idmanagement.gov/ns/assurance/aal/2"], Aal::Aal2),
        ];
        for (values, level) in asked {
            assert_eq!(Aal::from_acr_values(values), level, "{values:?}");
        }
    }

    #[test]
    fn a_higher_level_satisfies_a_lower_one_and_no_level_satisfies_none() {
        assert!(satisfies("aal2", Aal::Aal1) && satisfies("aal2", Aal::Aal2) && satisfies("aal1", Aal::Aal1));
        assert!(!satisfies("aal1", Aal::Aal2) && !satisfies("", Aal::Aal1) && !satisfies("0", Aal::Aal1));
    }

    #[test]
    fn each_second_factor_is_named_once() {
        let passkey = |backup_eligible| Shown::Passkey(PasskeyProof { user_verified: true, backup_eligible });
        let table: [(&[&str], Shown, &[&str]); 5] = [
            (&["pwd"], Shown::Totp, &["pwd", "otp", "mfa"]),
            (&["pwd"], Shown::RecoveryCode, &["pwd", "mfa"]),
            (&["pwd"], passkey(false), &["pwd", "hwk", "mfa"]),
            (&["pwd"], passkey(true), &["pwd", "swk", "mfa"]),
            (&["pwd", "otp", "mfa"], Shown::Totp, &["pwd", "otp", "mfa"]),
        ];
        for (first, shown, expected) in table {
            let first: Vec<String> = first.iter().map(|method| (*method).to_owned()).collect();
            let amr = with_second(&first, shown);
            assert_eq!(amr, expected, "{first:?} {shown:?}");
            assert_eq!(Aal::reached_by(&amr), Aal::Aal2);
        }
        assert_eq!(Aal::reached_by(&["pwd"]), Aal::Aal1);
    }
}
