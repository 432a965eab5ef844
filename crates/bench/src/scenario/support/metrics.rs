//! What Sluice says about itself, in the text format of Prometheus.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::driver::{Agent, Ask, Failure, Observer, Origin};

const PATH: &str = "/admin/metrics/prometheus";
const HARDENED: &str = r#"sluice_hardening_total{outcome="hardened"}"#;
const OFTEN: Duration = Duration::from_millis(100);
/// A server that has hardened nobody for so long does not harden, or not now.
const STALLED: Duration = Duration::from_millis(if cfg!(test) { 1_000 } else { 15_000 });

/// How many passwords this server has hardened; `None` if it does not say.
pub(crate) async fn hardened(agent: &mut Agent) -> Result<Option<u64>, Failure> {
    let answer = agent.send(&Ask::get(Origin::Admin, PATH)).await?;
    if answer.status() != 200 {
        return Ok(None);
    }
    Ok(std::str::from_utf8(answer.body()).ok().and_then(|text| value(text, HARDENED)))
}

/// Waits until so many are hardened: not longer than `patience`, nor while nobody is hardened, nor when `observer` has had enough. How
/// many are.
pub(crate) async fn wait_for_hardened(
    agent: &mut Agent,
    goal: u64,
    patience: Duration,
    observer: &dyn Observer,
) -> Result<u64, Failure> {
    let began = Instant::now();
    let (mut most, mut moved) = (0, began);
    loop {
        let count = hardened(agent).await?.unwrap_or_default();
        if count > most {
            (most, moved) = (count, Instant::now());
        }
        let is_over = began.elapsed() >= patience || moved.elapsed() >= STALLED;
        if count >= goal || is_over || observer.has_enough() {
            return Ok(count);
        }
        sleep(OFTEN).await;
    }
}

/// The value of a series, which is a whole number however it is written.
fn value(text: &str, series: &str) -> Option<u64> {
    let sample = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    let whole = sample.split_once(['.', ' ']).map_or(sample, |(whole, _)| whole);
    whole.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# HELP sluice_hardening_total passwords\n# TYPE sluice_hardening_total counter\n\
        sluice_hardening_total{outcome=\"superseded\"} 1.0\nsluice_hardening_total{outcome=\"hardened\"} 41.0\n\
        sluice_hardening_totals 7\nprocess_threads 9 1700000000\n";

    #[test]
    fn those_that_were_hardened_are_read() {
        assert_eq!(value(TEXT, HARDENED), Some(41));
    }

    #[test]
    fn a_value_is_read_with_or_without_a_time() {
        assert_eq!(value(TEXT, "process_threads"), Some(9));
        assert_eq!(value(TEXT, "sluice_hardening_totals"), Some(7));
    }

    #[test]
    fn what_is_not_counted_has_no_value() {
        assert_eq!(value(TEXT, "sluice_hardening"), None);
        assert_eq!(value("x y", "x"), None);
    }
}
