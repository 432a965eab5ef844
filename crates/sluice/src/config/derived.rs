//! Defaults that follow from other values: from the mode, from the issuer, from the common `serve.tls`.

use serde_json::Value;

use super::error::Findings;
use super::mode::Mode;
use super::values::{Origin, Values};
use super::{Sources, tls};

const ISSUER: &str = "urls.self.issuer";
const PUBLIC: &str = "urls.self.public";
const PORT: &str = "serve.public.port";
/// What the issuer of `--dev` names where the port is any that is free.
const USUAL_PORT: u16 = 4444;

/// Whether what is called must have a public address.
const GUARD: &str = "clients.http.disallow_private_ip_ranges";

/// The file of `--dev` in the data directory.
const DEVELOPMENT_STORE: &str = "sluice.db";

/// Fills in what was not given, and says which mode it is.
pub(super) fn fill(values: &mut Values, findings: &mut Findings, sources: &Sources) -> Mode {
    for listener in ["serve.public.tls", "serve.admin.tls"] {
        fill_tls(values, listener);
    }
    if sources.mode.is_development() {
        values.set("dev", Value::Bool(true), Origin::CommandLine);
    }
    let is_development = values.get("dev").and_then(Value::as_bool).unwrap_or_default();
    if is_development {
        let store = sources.data_dir.join(DEVELOPMENT_STORE);
        values.set_default("dsn", format!("sqlite:{}", store.display()));
        if !values.is_given(ISSUER) {
            let speaks_tls = values.get("serve.public.tls.enabled").and_then(Value::as_bool);
            fill_issuer(values, findings, speaks_tls.unwrap_or_default());
        }
        // What a developer calls runs beside it.
        if !values.is_given(GUARD) {
            values.set(GUARD, Value::Bool(false), Origin::Default);
        }
    }
    values.inherit(ISSUER, PUBLIC);
    values.inherit("urls.login", "urls.registration");
    if is_development { Mode::Development } else { Mode::Production }
}

/// The issuer of `--dev`: this machine, by the port and the scheme of the public listener.
fn fill_issuer(values: &mut Values, findings: &mut Findings, speaks_tls: bool) {
    let port = values.get(PORT).and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    let issuer = development_issuer(port.filter(|port| *port != 0).unwrap_or(USUAL_PORT), speaks_tls);
    if port == Some(0) {
        findings.warn(ISSUER, any_that_is_free(&issuer));
    }
    values.set(ISSUER, Value::String(issuer), Origin::Default);
}

/// What is said of an issuer that was made up where nobody knows the port before the start.
fn any_that_is_free(issuer: &str) -> String {
    format!("is {issuer}, but {PORT} is any that is free: people are sent to the former, so set one of both")
}

/// As a URL is written: without the port that its scheme has anyhow.
fn development_issuer(port: u16, speaks_tls: bool) -> String {
    match (speaks_tls, port) {
        (true, 443) => "https://127.0.0.1/".to_owned(),
        (true, port) => format!("https://127.0.0.1:{port}/"),
        (false, 80) => "http://127.0.0.1/".to_owned(),
        (false, port) => format!("http://127.0.0.1:{port}/"),
    }
}

/// Makes the issuer that [`fill`] made up one at https, and the address that follows from it: the certificate is made at the start.
pub(super) fn move_to_https(values: &mut Values, findings: &mut Findings) {
    let made_up = |values: &Values| {
        let text = values.get(ISSUER)?.as_str()?;
        text.strip_prefix("http://").map(str::to_owned).filter(|_| !values.is_given(ISSUER))
    };
    let Some(rest) = made_up(values) else { return };
    let issuer = format!("https://{rest}");
    findings.reword(&any_that_is_free(&format!("http://{rest}")), any_that_is_free(&issuer));
    let issuer = Value::String(issuer);
    if values.is_inherited(PUBLIC) {
        values.set(PUBLIC, issuer.clone(), Origin::Inherited(ISSUER.to_owned()));
    }
    values.set(ISSUER, issuer, Origin::Default);
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
