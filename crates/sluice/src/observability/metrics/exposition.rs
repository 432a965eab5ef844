//! The text formats: `OpenMetrics` 1.0 for who asks for it, as Prometheus does; the older one for everyone else.

const OPEN_METRICS: &str = "application/openmetrics-text";
const OPEN_METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const CLASSIC_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The content type and body for an `Accept` header.
pub(super) fn negotiated(accept: &str, open_metrics: String) -> (&'static str, String) {
    if accepts_open_metrics(accept) {
        return (OPEN_METRICS_TYPE, open_metrics);
    }
    (CLASSIC_TYPE, classic(&open_metrics))
}

/// Whether one of the formats that are accepted is `OpenMetrics`, with a weight that is not 0, which refuses it (RFC 9110 §12.4.2).
fn accepts_open_metrics(accept: &str) -> bool {
    accept.split(',').any(|format| {
        let mut parts = format.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(OPEN_METRICS));
        is_named && !parts.any(is_weight_of_zero)
    })
}

fn is_weight_of_zero(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, weight)| {
        name.trim().eq_ignore_ascii_case("q") && weight.trim().bytes().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

/// In the older format a counter's family has the name of its samples, `_total` included, and there is no end mark.
fn classic(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut lines = open_metrics.lines().peekable();
    while let Some(line) = lines.next() {
        let counter = |line: &str| Some(line.strip_prefix("# TYPE ")?.strip_suffix(" counter")?.to_owned());
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let is_counter = lines.peek().and_then(|next| counter(next)).is_some_and(|next| next == name);
            text.extend(["# HELP ", name, if is_counter { "_total " } else { " " }, help]);
        } else if let Some(name) = counter(line) {
            text.extend(["# TYPE ", &name, "_total counter"]);
        } else if line == "# EOF" || line.starts_with("# UNIT ") {
            continue;
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "# HELP a_jobs Jobs.\n# TYPE a_jobs counter\na_jobs_total 1\n\
                        # HELP b_depth Depth.\n# TYPE b_depth gauge\nb_depth 2\n# EOF\n";

    #[test]
    fn the_older_format_names_a_counter_as_its_samples() {
        let expected = "# HELP a_jobs_total Jobs.\n# TYPE a_jobs_total counter\na_jobs_total 1\n\
                        # HELP b_depth Depth.\n# TYPE b_depth gauge\nb_depth 2\n";
        assert_eq!(negotiated("*/*", OPEN.to_owned()), (CLASSIC_TYPE, expected.to_owned()));
    }

    #[test]
    fn a_scraper_that_knows_open_metrics_gets_it() {
        let accept = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5";
        assert_eq!(negotiated(accept, OPEN.to_owned()), (OPEN_METRICS_TYPE, OPEN.to_owned()));
    }

    #[test]
    fn a_weight_of_zero_refuses_open_metrics() {
        let content_type = |accept| negotiated(accept, OPEN.to_owned()).0;
        for accept in [
            "application/openmetrics-text;q=0",
            "text/plain, application/openmetrics-text; version=1.0.0; Q = 0.000",
            "application/openmetrics-text-of-another-kind",
        ] {
            assert_eq!(content_type(accept), CLASSIC_TYPE, "{accept}");
        }
        for accept in
            ["application/openmetrics-text;q=0.05", "Application/OpenMetrics-Text ; q=1, text/plain;q=0"]
        {
            assert_eq!(content_type(accept), OPEN_METRICS_TYPE, "{accept}");
        }
    }
}
