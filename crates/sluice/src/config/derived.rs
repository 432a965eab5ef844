//! Defaults that follow from other values: from the mode, from the issuer, from the common `serve.tls`.

use serde_json::Value;

use super::mode::Mode;
use super::values::{Origin, Values};
use super::{Sources, tls};

/// The issuer of `--dev`.
const DEVELOPMENT_ISSUER: &str = "http://127.0.0.1:4444/";

/// Whether what is called must have a public address.
const GUARD: &str = "clients.http.disallow_private_ip_ranges";

/// The file of `--dev` in the data directory.
const DEVELOPMENT_STORE: &str = "sluice.db";

/// Fills in what was not given, and says which mode it is.
pub(super) fn fill(values: &mut Values, sources: &Sources) -> Mode {
    if sources.mode.is_development() {
        values.set("dev", Value::Bool(true), Origin::CommandLine);
    }
    let is_development = values.get("dev").and_then(Value::as_bool).unwrap_or_default();
    if is_development {
        let store = sources.data_dir.join(DEVELOPMENT_STORE);
        values.set_default("dsn", format!("sqlite:{}", store.display()));
        values.set_default("urls.self.issuer", DEVELOPMENT_ISSUER.to_owned());
        // What a developer calls runs beside it.
        if !values.is_given(GUARD) {
            values.set(GUARD, Value::Bool(false), Origin::Default);
        }
    }
    values.inherit("urls.self.issuer", "urls.self.public");
    values.inherit("urls.login", "urls.registration");
    for listener in ["serve.public.tls", "serve.admin.tls"] {
        fill_tls(values, listener);
    }
    if is_development { Mode::Development } else { Mode::Production }
}

/// Gives the public or the admin listener what `serve.tls` says. A certificate or key is taken whole: its path or its text.
fn fill_tls(values: &mut Values, listener: &str) {
    for group in tls::GROUPS {
        if is_not_for(values, listener, group) {
            continue;
        }
        let given = group.iter().any(|name| values.get(&format!("{listener}.{name}")).is_some());
        for name in group.iter().filter(|_| !given) {
            values.inherit(&format!("serve.tls.{name}"), &format!("{listener}.{name}"));
        }
    }
}

/// Where the admin port speaks plain http, the proxies in front of the public one say nothing about it: what asks there are the
/// operator's own services, which reach it as they reach Hydra's.
fn is_not_for(values: &Values, listener: &str, group: &[&str]) -> bool {
    let speaks_tls = || values.get("serve.admin.tls.enabled").and_then(Value::as_bool).unwrap_or_default();
    listener == "serve.admin.tls" && *group == [tls::TERMINATION] && !speaks_tls()
}
