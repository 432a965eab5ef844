//! `sluice gateway`: what a routes file says, without a gateway.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sluice_gateway::route::file::{self, Checked, Mistakes};
use sluice_gateway::route::pattern::Match;
use sluice_gateway::route::{AuthMode, RouteTable, Unrouted};
use sluice_gateway::{Refusal, Route};

use crate::cli::{Answer, CheckRoutesArgs, Console, Exit, GatewayCommand, MatchRouteArgs};

const MISTAKES: &[&str] = &["PLACE", "MISTAKE"];
const ROUTES: &[&str] = &["ROUTE", "HOSTS", "PATH", "METHODS", "AUTH", "SCOPES", "UPSTREAMS", "LIMITS"];
const FOUND: &[&str] =
    &["ROUTE", "HOSTS", "PATH", "METHODS", "AUTH", "SCOPES", "UPSTREAMS", "LIMITS", "UPSTREAM PATH"];

/// Does what is asked about a routes file.
pub(crate) fn run(command: &GatewayCommand, console: &mut Console<'_>) -> Exit {
    match command {
        GatewayCommand::Check(args) => check(args, console),
        GatewayCommand::Match(args) => find(args, console),
    }
}

/// Prints the routes; or all mistakes, and fails.
fn check(args: &CheckRoutesArgs, console: &mut Console<'_>) -> Exit {
    let (answer, exit) = match read(&args.file, console) {
        None => return Exit::Failure,
        Some(Ok(checked)) => (routes(&checked), Exit::Success),
        Some(Err(mistakes)) => (wrong(&mistakes), Exit::Failure),
    };
    let printed = args.output.print(&answer, console.out);
    if console.printed(printed) == Exit::Success { exit } else { Exit::Failure }
}

/// Prints the route of a request; or what the gateway answers where there is none, and fails.
fn find(args: &MatchRouteArgs, console: &mut Console<'_>) -> Exit {
    let table = match read(&args.file, console) {
        None => return Exit::Failure,
        Some(Ok(checked)) => checked.table,
        Some(Err(mistakes)) => {
            let printed = args.output.print(&wrong(&mistakes), console.out);
            console.printed(printed);
            return Exit::Failure;
        }
    };
    let host = args.url.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    match table.find(&args.method, host, args.url.path()) {
        Ok(route) => {
            let printed = args.output.print(&found(&table, route, args.url.path()), console.out);
            console.printed(printed)
        }
        Err(unrouted) => {
            console.say(&why_not(unrouted, &table.refusal(unrouted, host, args.url.path())));
            Exit::Failure
        }
    }
}

/// Reads a file; what is odd is said. `None`: it cannot be read at all, which was said.
fn read(path: &PathBuf, console: &mut Console<'_>) -> Option<Result<Checked, Mistakes>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            console.say(&format!("error: {} cannot be read: {error}", path.display()));
            return None;
        }
    };
    let read = file::read(&text, path.parent().unwrap_or(Path::new("")));
    for warning in read.iter().flat_map(|checked| &checked.warnings) {
        console.say(&format!("warning: {warning}"));
    }
    Some(read)
}

fn wrong(mistakes: &Mistakes) -> Answer {
    let rows = mistakes
        .iter()
        .map(|mistake| vec![mistake.shown_place().into_owned(), mistake.message.clone()])
        .collect();
    Answer::list(MISTAKES, rows, json!({ "valid": false, "mistakes": mistakes.iter().collect::<Vec<_>>() }))
}

fn routes(checked: &Checked) -> Answer {
    let table = &checked.table;
    let both = || table.routes().iter().zip(table.matches());
    let rows = both().map(|(route, matched)| row(route, matched)).collect();
    let routes: Vec<Value> = both().map(|(route, matched)| json_of(route, matched)).collect();
    Answer::list(ROUTES, rows, json!({ "valid": true, "routes": routes, "warnings": checked.warnings }))
}

fn found(table: &RouteTable, route: &Route, path: &str) -> Answer {
    let matched = table.routes().iter().zip(table.matches()).find(|(known, _)| known.name == route.name);
    let upstream_path = route.upstream_path(path).into_owned();
    let (mut cells, mut json) = match matched {
        Some((_, matched)) => (row(route, matched), json_of(route, matched)),
        None => (vec![route.name.to_string()], json!({})),
    };
    if let Some(fields) = json.as_object_mut() {
        fields.insert("upstream_path".to_owned(), upstream_path.as_str().into());
    }
    cells.push(upstream_path);
    Answer::one(FOUND, cells, json)
}

/// What the gateway answers, and why.
fn why_not(unrouted: Unrouted, refusal: &Refusal) -> String {
    let status = refusal.status().as_u16();
    if let Refusal::OtherMethods(allow) = refusal {
        let methods = allow.to_str().unwrap_or_default();
        return format!("{status}: {unrouted}; there are routes for {methods}");
    }
    format!("{status}: {unrouted}")
}

fn row(route: &Route, matched: &Match) -> Vec<String> {
    vec![
        route.name.to_string(),
        words(matched.hosts.iter(), " "),
        matched.path.to_string(),
        if matched.methods.is_empty() { "all".to_owned() } else { words(matched.methods.iter(), " ") },
        auth(route.policy.auth).to_owned(),
        words(route.policy.scopes.iter().chain(&route.policy.any_scope), " "),
        words(route.upstreams.iter().map(|one| &one.config.name), " "),
        route.limits.len().to_string(),
    ]
}

fn json_of(route: &Route, matched: &Match) -> Value {
    let texts = |texts: &mut dyn Iterator<Item = String>| texts.collect::<Vec<_>>();
    let upstreams = route.upstreams.iter().map(|one| (one.config.name.to_string(), one.weight.get().into()));
    json!({
        "name": route.name,
        "hosts": texts(&mut matched.hosts.iter().map(ToString::to_string)),
        "path": matched.path.as_str(),
        "methods": texts(&mut matched.methods.iter().map(ToString::to_string)),
        "auth": auth(route.policy.auth),
        "issuers": route.policy.issuers,
        "scopes": route.policy.scopes,
        "any_scope": route.policy.any_scope,
        "audience": route.policy.audience,
        "upstreams": upstreams.collect::<serde_json::Map<_, _>>(),
        "limits": route.limits.len(),
    })
}

const fn auth(mode: AuthMode) -> &'static str {
    match mode {
        AuthMode::Required => "required",
        AuthMode::Optional => "optional",
        AuthMode::None => "none",
    }
}

fn words(items: impl Iterator<Item = impl ToString>, separator: &str) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests;
