//! Which crate may depend on which: the layers of the workspace, once, as a table.
//!
//! A crate may use what its row names. Tests may also use `store-contract` and `testkit`. A crate without a row fails
//! the check, so that a new crate is given its place when it is made.

/// A dependency of one workspace member on another package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrow {
    /// The package that depends.
    pub(crate) from: String,
    /// The package it depends on, in the workspace or not.
    pub(crate) to: String,
    /// What the dependency is for.
    pub(crate) kind: ArrowKind,
}

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArrowKind {
    /// `[dependencies]` or `[build-dependencies]`.
    Code,
    /// `[dev-dependencies]`.
    Test,
}

const PRIMITIVES: &[&str] = &["primitives"];
const PROTOCOL_AND_BELOW: &[&str] = &["protocol", "crypto", "commit", "net", "primitives"];
const TOKEN_AND_BELOW: &[&str] = &["token", "protocol", "crypto", "commit", "net", "primitives"];
const DOMAIN_AND_BELOW: &[&str] =
    &["oauth", "identity", "token", "protocol", "crypto", "commit", "net", "primitives"];
const ALL_BUT_TESTS: &[&str] = &[
    "store-postgres",
    "store-sqlite",
    "http",
    "gateway",
    "bench",
    "oauth",
    "identity",
    "token",
    "protocol",
    "crypto",
    "commit",
    "net",
    "primitives",
];
const ANYTHING: &[&str] = &[
    "sluice",
    "private-postgres",
    "store-contract",
    "store-postgres",
    "store-sqlite",
    "http",
    "gateway",
    "oauth",
    "identity",
    "token",
    "protocol",
    "crypto",
    "commit",
    "net",
    "primitives",
];
const FOR_TESTS: &[&str] = &["store-contract", "testkit"];

/// What is wrong with these dependencies, a sentence each; empty when nothing is.
pub(crate) fn complaints(members: &[String], arrows: &[Arrow]) -> Vec<String> {
    let homeless = members.iter().filter(|member| allowed(short(member)).is_none()).map(|member| {
        format!("{member} has no row in crates/xtask/src/arrows.rs: say what the new crate may depend on")
    });
    let forbidden = arrows.iter().filter(|arrow| members.contains(&arrow.to)).filter_map(forbidden);
    homeless.chain(forbidden).collect()
}

fn forbidden(arrow: &Arrow) -> Option<String> {
    let (from, to) = (short(&arrow.from), short(&arrow.to));
    let allowed = allowed(from)?;
    if allowed.contains(&to) || (arrow.kind == ArrowKind::Test && FOR_TESTS.contains(&to)) {
        return None;
    }
    let may = if allowed.is_empty() { "no other crate".to_owned() } else { allowed.join(", ") };
    let subject = match arrow.kind {
        ArrowKind::Code => arrow.from.clone(),
        ArrowKind::Test => format!("a test of {}", arrow.from),
    };
    Some(format!("{subject} must not depend on {}; it may use {may}", arrow.to))
}

/// The crates that this one may use, or `None` for a crate without a row.
fn allowed(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "primitives" | "private-postgres" | "xtask" => Some(&[]),
        "protocol" | "crypto" | "commit" | "net" => Some(PRIMITIVES),
        "token" => Some(PROTOCOL_AND_BELOW),
        "oauth" | "gateway" | "identity" => Some(TOKEN_AND_BELOW),
        "store-postgres" | "store-sqlite" | "http" | "store-contract" => Some(DOMAIN_AND_BELOW),
        "bench" => Some(&["private-postgres"]),
        "sluice" => Some(ALL_BUT_TESTS),
        "testkit" => Some(ANYTHING),
        _ => None,
    }
}

/// The directory of a package: `oauth` for `sluice-oauth`.
fn short(package: &str) -> &str {
    package.strip_prefix("sluice-").unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from: &str, to: &str, kind: ArrowKind) -> Vec<String> {
        let members = [from.to_owned(), to.to_owned()];
        complaints(&members, &[Arrow { from: from.to_owned(), to: to.to_owned(), kind }])
    }

    #[test]
    fn an_arrow_downwards_is_allowed() {
        for (from, to) in [
            ("sluice-oauth", "sluice-token"),
            ("sluice-http", "sluice-identity"),
            ("sluice", "sluice-store-sqlite"),
            ("sluice-token", "sluice-crypto"),
            ("sluice-bench", "sluice-private-postgres"),
        ] {
            assert_eq!(check(from, to, ArrowKind::Code), Vec::<String>::new(), "{from} -> {to}");
        }
    }

    #[test]
    fn an_arrow_upwards_or_sideways_is_refused() {
        for (from, to) in [
            ("sluice-primitives", "sluice-protocol"),
            ("sluice-oauth", "sluice-identity"),
            ("sluice-identity", "sluice-oauth"),
            ("sluice-oauth", "sluice-gateway"),
            ("sluice-http", "sluice-store-sqlite"),
            ("sluice-store-postgres", "sluice-http"),
            ("sluice-protocol", "sluice-crypto"),
            ("sluice-bench", "sluice-oauth"),
            ("sluice-http", "sluice"),
        ] {
            let found = check(from, to, ArrowKind::Code);
            assert_eq!(found.len(), 1, "{from} -> {to}: {found:?}");
        }
    }

    #[test]
    fn the_refusal_names_both_crates_and_what_is_allowed_instead() {
        assert_eq!(
            check("sluice-net", "sluice-token", ArrowKind::Code),
            ["sluice-net must not depend on sluice-token; it may use primitives"]
        );
        assert_eq!(
            check("sluice-primitives", "sluice-net", ArrowKind::Test),
            ["a test of sluice-primitives must not depend on sluice-net; it may use no other crate"]
        );
    }

    #[test]
    fn only_tests_use_the_contract_and_the_testkit() {
        for tool in ["sluice-store-contract", "sluice-testkit"] {
            assert!(check("sluice-store-sqlite", tool, ArrowKind::Test).is_empty());
            assert_eq!(check("sluice-store-sqlite", tool, ArrowKind::Code).len(), 1);
            assert_eq!(check("sluice", tool, ArrowKind::Code).len(), 1);
        }
    }

    #[test]
    fn a_crate_without_a_row_is_named() {
        let found = complaints(&["sluice-common".to_owned()], &[]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("sluice-common has no row"), "{found:?}");
    }

    #[test]
    fn packages_outside_the_workspace_are_nobodys_business() {
        let arrow = Arrow { from: "sluice-net".into(), to: "rustls".into(), kind: ArrowKind::Code };
        assert!(complaints(&["sluice-net".to_owned()], &[arrow]).is_empty());
    }
}
