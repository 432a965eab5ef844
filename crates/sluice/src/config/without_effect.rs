//! Sections of Hydra's that load and do nothing, with the reason of each.

use super::key::{Key, Kind};

const NO_HSM: &str = "keys are sealed in the store; there is no PKCS#11 support";
const NO_GO: &str = "Sluice is not a Go program; its threads follow the CPUs it is given";

pub(super) const ANY_INTEGER: Kind = Kind::Integer { min: i64::MIN, max: i64::MAX };

pub(super) const KEYS: &[Key] = &[
    Key::ignored("hsm.enabled", Kind::Boolean, NO_HSM),
    Key::ignored("hsm.library", Kind::Path, NO_HSM),
    Key::ignored("hsm.pin", Kind::Secret, NO_HSM),
    Key::ignored("hsm.slot", ANY_INTEGER, NO_HSM),
    Key::ignored("hsm.token_label", Kind::Text, NO_HSM),
    Key::ignored("hsm.key_set_prefix", Kind::Text, NO_HSM),
    Key::ignored("db.ignore_unknown_table_columns", Kind::Boolean, "statements name the columns they read"),
    Key::ignored("sqa.opt_out", Kind::Boolean, "Sluice reports to nobody"),
    Key::ignored("cgroups.v1.auto_max_procs_enabled", Kind::Boolean, NO_GO),
    Key::ignored("profiling", Kind::Text, "serve.admin.profiling serves profiles").not_from_environment(),
    Key::ignored("version", Kind::Text, "the file is read the same way whatever version it is for")
        .not_from_environment(),
    Key::ignored(
        "feature_flags.legacy_allow_insecure_origins",
        Kind::Boolean,
        "a wildcard in an origin is bounded by the origin it is written in",
    ),
    Key::ignored("ttl.vc_nonce", Kind::Duration, "there are no verifiable credentials"),
];
