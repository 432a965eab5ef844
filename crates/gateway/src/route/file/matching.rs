//! `match`: which requests a route is for.

use http::Method;

use super::section::Section;
use crate::route::host::HostPattern;
use crate::route::pattern::{Match, PathPattern};

/// Reads which requests a route is for.
pub(super) fn read(mut section: Section<'_>) -> Option<Match> {
    let mut hosts = section.narrowing("hosts", "all", str::parse::<HostPattern>);
    if hosts.is_empty() || hosts.contains(&HostPattern::Any) {
        hosts = vec![HostPattern::Any];
    }
    let methods = section.narrowing("methods", "all", method);
    let path = path(&mut section);
    section.finish();
    Some(Match { hosts, path: path?, methods })
}

/// One of `prefix`, `pattern` and `path`.
fn path(section: &mut Section<'_>) -> Option<PathPattern> {
    let written = ["prefix", "pattern", "path"].into_iter().filter(|key| section.has(key)).count();
    let (prefix, pattern, exact) = (
        section.parse("prefix", PathPattern::prefix),
        section.parse("pattern", PathPattern::template),
        section.parse("path", PathPattern::exact),
    );
    if written != 1 {
        section.mistake("", "needs one of `prefix`, `pattern` and `path`");
        return None;
    }
    prefix.or(pattern).or(exact)
}

fn method(text: &str) -> Result<Method, &'static str> {
    let is_upper = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    let method = is_upper.then(|| Method::from_bytes(text.as_bytes()).ok()).flatten();
    method
        .filter(|method| !matches!(*method, Method::CONNECT | Method::TRACE))
        .ok_or("must be a method such as GET (CONNECT and TRACE are never let through)")
}
