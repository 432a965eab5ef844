//! `tracing`: where traces are sent. Sluice speaks OTLP over HTTP; Jaeger and Zipkin receive that too.

use url::{Host, Url};

use super::key::{Choice, Key, Kind, names};
use super::reader::Reader;
use super::secret_string::SecretString;

const SERVER: &str = "tracing.providers.otlp.server_url";

/// Why the settings of other protocols mean nothing.
const OTLP_ONLY: &str = "traces are sent by OTLP; set tracing.providers.otlp";
/// The same where that is set.
const OTEL_ONLY: &str = "traces are sent by OTLP; set tracing.provider to otel";

pub(super) const KEYS: &[Key] = &[
    Key::hydra(
        "provider",
        Kind::Choice(names::<Provider>),
        "`otel` sends traces; without it, and with the other providers of Hydra, none are sent.",
    ),
    Key::hydra("service_name", Kind::Text, "The name of this service in traces.").with_default("sluice"),
    Key::hydra("deployment_environment", Kind::Text, "The environment in traces, such as `production`."),
    Key::hydra("providers.otlp.server_url", Kind::Server, "The collector."),
    Key::hydra(
        "providers.otlp.insecure",
        Kind::Boolean,
        "Whether a collector given as host and port speaks plain http.",
    )
    .with_default("false"),
    Key::hydra(
        "providers.otlp.sampling.sampling_ratio",
        Kind::Ratio,
        "The share of requests that are traced.",
    )
    .with_default("1"),
    Key::hydra(
        "providers.otlp.authorization_header",
        Kind::Secret,
        "The `Authorization` header for the collector.",
    ),
    Key::ignored("providers.jaeger.local_agent_address", Kind::Text, OTLP_ONLY),
    Key::ignored("providers.jaeger.sampling.server_url", Kind::Server, OTLP_ONLY),
    Key::ignored("providers.jaeger.sampling.trace_id_ratio", Kind::Ratio, OTLP_ONLY),
    Key::ignored("providers.zipkin.server_url", Kind::Server, OTLP_ONLY),
    Key::ignored("providers.zipkin.sampling.sampling_ratio", Kind::Ratio, OTLP_ONLY),
];

/// Traces.
#[derive(Debug, Clone)]
pub(crate) struct TracingSettings {
    /// Default: `sluice`.
    pub(crate) service_name: String,
    pub(crate) deployment_environment: Option<String>,
    /// `None`: no traces are sent.
    pub(crate) otlp: Option<OtlpSettings>,
}

/// Where traces are sent by OTLP.
#[derive(Debug, Clone)]
pub(crate) struct OtlpSettings {
    /// The base address of the collector, without `/v1/traces` unless it was written so.
    pub(crate) endpoint: Url,
    pub(crate) authorization_header: Option<SecretString>,
    /// The share of requests that are traced, 0 to 1. Default: 1.
    pub(crate) sampling_ratio: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Provider {
    #[default]
    None,
    Otel,
    /// One that Hydra has or had.
    Other,
}

impl Choice for Provider {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("otel", Self::Otel),
        ("jaeger", Self::Other),
        ("zipkin", Self::Other),
        ("datadog", Self::Other),
        ("elastic-apm", Self::Other),
    ];
}

pub(super) fn read(reader: &mut Reader<'_>) -> TracingSettings {
    let provider: Provider = reader.choice("tracing.provider");
    let otlp = read_otlp(reader, provider);
    let otlp = match provider {
        Provider::None => {
            if reader.has(SERVER) {
                reader.warn(SERVER, "has no effect: no traces are sent unless tracing.provider is otel");
            }
            None
        }
        Provider::Otel => {
            if !reader.has(SERVER) {
                reader.refuse(SERVER, "is required for the provider otel");
            }
            otlp
        }
        Provider::Other => {
            let missing = if reader.has(SERVER) { OTEL_ONLY } else { OTLP_ONLY };
            reader.warn("tracing.provider", format!("no traces are sent: {missing}"));
            None
        }
    };
    TracingSettings {
        service_name: reader.text("tracing.service_name").unwrap_or_default(),
        deployment_environment: reader.text("tracing.deployment_environment"),
        otlp,
    }
}

/// A collector that nothing is sent to may be any.
fn read_otlp(reader: &mut Reader<'_>, provider: Provider) -> Option<OtlpSettings> {
    let insecure = reader.boolean("tracing.providers.otlp.insecure");
    let sampling_ratio = reader.ratio("tracing.providers.otlp.sampling.sampling_ratio").unwrap_or(1.0);
    let authorization_header = reader.secret("tracing.providers.otlp.authorization_header");
    let server = reader.text(SERVER)?;
    let address = match (server.contains("://"), insecure) {
        (true, _) => server,
        (false, true) => format!("http://{server}"),
        (false, false) => format!("https://{server}"),
    };
    let Some(endpoint) = Url::parse(&address).ok().filter(is_reachable) else {
        if provider == Provider::Otel {
            reader.refuse(SERVER, "must be an http or https URL, or host and port");
        }
        return None;
    };
    Some(OtlpSettings { endpoint, authorization_header, sampling_ratio })
}

/// Whether requests can go there. As a host, [`Url`] takes what no name server knows, a list such as `a,b` too.
fn is_reachable(url: &Url) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let names_a_host = match url.host() {
        Some(Host::Domain(name)) => !name.is_empty() && name.bytes().all(is_of_name),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    };
    names_a_host && matches!(url.scheme(), "http" | "https")
}
