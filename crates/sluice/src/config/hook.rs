//! Hooks: services that are asked before something happens, as a URL or as a mapping with credentials.
//!
//! None is called in this version; the keys are known, so that they are not mistaken for misspelt ones.

use super::key::{Key, Kind};
use super::later::NO_HOOKS;

/// The keys below a hook that is a mapping.
pub(super) const KEYS: &[Key] = &[
    Key::ignored(".url", Kind::Url, NO_HOOKS),
    Key::ignored(".auth.type", Kind::Text, NO_HOOKS),
    Key::ignored(".auth.config.in", Kind::Text, NO_HOOKS),
    Key::ignored(".auth.config.name", Kind::Text, NO_HOOKS),
    Key::ignored(".auth.config.value", Kind::Secret, NO_HOOKS),
];
