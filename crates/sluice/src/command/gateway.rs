//! `sluice gateway`: what a routes file says, without a gateway.

use std::path::{Path, PathBuf};

use http::{Method, Request};
use serde_json::{Value, json};
use sluice_gateway::proxy::prepare;
use sluice_gateway::route::file::{self, Checked, Mistakes};
use sluice_gateway::route::pattern::Match;
use sluice_gateway::route::{AuthMode, RouteTable, Unrouted, WELL_KNOWN};
use sluice_gateway::{Refusal, Route};

use crate::cli::{Answer, CheckRoutesArgs, Console, Exit, GatewayCommand, MatchRouteArgs};
use crate::config::JWKS_PATH;

const MISTAKES: &[&str] = &["PLACE", "MISTAKE"];
const ROUTES: &[&str] = &["ROUTE", "HOSTS", "PATH", "METHODS", "AUTH", "SCOPES", "UPSTREAMS", "LIMITS"];
const DOCUMENT: &[&str] = &["DOCUMENT", "STATUS"];
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

/// Prints the route of a request, or which document of its own the gateway serves; or what it answers where there is neither, and fails.
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
    match answered(&table, args) {
        Ok(answer) => {
            let printed = args.output.print(&answer, console.out);
            console.printed(printed)
        }
        Err(refused) => {
            console.say(&refused);
            Exit::Failure
        }
    }
}

/// The route of a request, or the document of the gateway's own, asked for in the order in which the gateway does.
///
/// # Errors
/// What the gateway answers, and why.
fn answered(table: &RouteTable, args: &MatchRouteArgs) -> Result<Answer, String> {
    let mut parts = Request::new(()).into_parts().0;
    (parts.method, parts.uri) = (args.method.clone(), args.url.clone());
    let host = prepare(&mut parts).map_err(|why| format!("{}: {why}", why.status().as_u16()))?;
    let (host, path) = (host.to_str().unwrap_or_default(), parts.uri.path());
    if let Some(what) = document(table, host, path) {
        return served(&parts.method, &what);
    }
    match table.find(&parts.method, host, path) {
        Ok(route) => Ok(found(table, route, path)),
        Err(unrouted) => Err(why_not(unrouted, &table.refusal(unrouted, host, path))),
    }
}

/// What the gateway itself serves at this path of this host, before any route. That the keys of phantom tokens are elsewhere, or nowhere, no
/// routes file tells.
fn document(table: &RouteTable, host: &str, path: &str) -> Option<String> {
    if path == JWKS_PATH {
        return Some("the public keys of phantom tokens, unless gateway.phantom.jwks_path is set".to_owned());
    }
    let is_metadata = path.starts_with(WELL_KNOWN);
    let resource = is_metadata.then(|| table.resource(host, path)).flatten()?;
    Some(format!("the metadata of {}", resource.identifier))
}

/// The answer of the gateway about a document of its own.
fn served(method: &Method, what: &str) -> Result<Answer, String> {
    let status = match *method {
        Method::GET | Method::HEAD => 200,
        Method::OPTIONS => 204,
        _ => return Err(format!("405: the gateway itself serves {what}; with GET, HEAD, OPTIONS")),
    };
    let json = json!({ "document": what, "status": status });
    Ok(Answer::one(DOCUMENT, vec![what.to_owned(), status.to_string()], json))
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
