//! Tokens that are made before a run are to be good until it ends.

use std::time::Duration;

use super::knee::MOST_LOADS;
use crate::command::RunArgs;
use crate::scenario::Kind;

/// What the server calls it.
const KEY: &str = "ttl.access_token";
/// Of the hour that they live by default, floors and what else comes between take the rest.
const LONG: Duration = Duration::from_mins(30);
const HOUR: u64 = 3600;
/// No server lets them live longer, in hours.
const LONGEST: u64 = 744;

/// The setting of the server for that: of a run that is long and goes on with such tokens, unless one was said.
pub(super) fn setting(run: &RunArgs, kind: &Kind) -> Option<String> {
    let is_it = |setting: &String| setting.split_once('=').is_some_and(|(key, _)| key.trim() == KEY);
    if !kind.keeps_tokens() || run.server.set.iter().any(is_it) {
        return None;
    }
    let planned = planned(run).filter(|planned| *planned > LONG)?;
    let hours = planned.as_secs().div_ceil(HOUR).saturating_add(1).min(LONGEST);
    Some(format!("{KEY}={hours}h"))
}

/// How long it takes with all its loads; of operations nobody knows.
fn planned(run: &RunArgs) -> Option<Duration> {
    if run.operations.is_some() {
        return None;
    }
    let loads = if run.knee().is_some() { MOST_LOADS } else { run.runs.get() };
    let loads = u32::try_from(loads).unwrap_or(u32::MAX);
    Some(run.duration.saturating_mul(loads).saturating_add(run.warm_up))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{GatewayOptions, HardeningOptions, IntrospectOptions};

    fn args(said: &str) -> RunArgs {
        #[derive(clap::Parser)]
        struct Cli {
            #[command(flatten)]
            run: RunArgs,
        }
        <Cli as clap::Parser>::try_parse_from(said.split(' ')).unwrap().run
    }

    #[test]
    fn tokens_outlive_a_long_run() {
        let introspect = Kind::Introspect(IntrospectOptions::default());
        let set = |said: &str| setting(&args(said), &introspect);
        assert_eq!(set("bench --duration 30m --warm-up 0s"), None);
        assert_eq!(set("bench --duration 30m").as_deref(), Some("ttl.access_token=2h"));
        assert_eq!(set("bench --duration 20m --runs 9").as_deref(), Some("ttl.access_token=5h"));
        assert_eq!(set("bench --duration 2400h").as_deref(), Some("ttl.access_token=744h"));
        assert_eq!(set("bench --find-knee"), None);
        assert_eq!(set("bench --find-knee --duration 1m").as_deref(), Some("ttl.access_token=2h"));
        assert_eq!(set("bench -n 9"), None, "nobody knows how long that takes");
        assert_eq!(set("bench --duration 9h --set ttl.access_token=1h"), None, "another was said");
    }

    #[test]
    fn who_goes_on_with_old_tokens_is_known() {
        let long = args("bench --duration 9h");
        let is_set = |kind: &Kind| setting(&long, kind).is_some();
        assert!(is_set(&Kind::Userinfo(IntrospectOptions::default())));
        assert!(is_set(&Kind::Gateway(GatewayOptions::default())));
        assert!(is_set(&Kind::Mix(HardeningOptions::default())));
        assert!(!is_set(&Kind::Register) && !is_set(&Kind::GetClient));
    }
}
