//! `issuers`: whose tokens count beside this installation's own.

use std::path::Path;
use std::time::Duration;

use sluice_crypto::jwk::SigningAlgorithm;
use sluice_primitives::Secret;
use url::Url;

use super::section::Section;
use super::value;
use crate::validation::{
    ClientMark, IntrospectionClient, IntrospectionConfig, IssuerConfig, JwtConfig, KeySource, OWN_ISSUER,
};

/// The clock of an issuer may differ from ours by so much.
const MOST_SKEW: Duration = Duration::from_mins(5);
/// Nobody waits longer than this for an issuer.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// An answer is believed for so long at most: until then a token that was revoked elsewhere is good here.
const LONGEST_CACHE: Duration = Duration::from_hours(1);
const LONGEST_KEEPING: Duration = Duration::from_hours(24 * 30);

/// Reads an issuer. Its JWTs count unless it is only asked about tokens (`introspection` without `jwks_uri` and `discovery`).
pub(super) fn read(name: &str, mut section: Section<'_>, directory: &Path) -> Option<IssuerConfig> {
    if name == OWN_ISSUER {
        section.mistake("", "`sluice` is this installation's own name");
    }
    let issuer = section.parse("issuer", value::text);
    let introspection = section.section("introspection").map(|asked| introspection(asked, directory));
    let keys = keys(&mut section, introspection.is_some());
    let mut jwt = jwt(&mut section);
    let mut config = IssuerConfig::new(name, issuer.as_deref().unwrap_or_default());
    if keys.is_some() && issuer.is_none() {
        section.mistake("issuer", "is missing: it is what `iss` of the JWTs must be");
    }
    if let (Some(KeySource::Discovery), Some(issuer)) = (&keys, &issuer)
        && let Err(why) = value::authority(issuer)
    {
        section.mistake("issuer", format_args!("{why}: its keys are looked for there"));
    }
    if let Some(skew) = section.parse("clock_skew", value::duration(Duration::ZERO..=MOST_SKEW)) {
        config.clock_skew = skew;
    }
    config.audience = section.narrowing("audience", "any", value::text);
    config.clients = section.section("clients").and_then(clients);
    config.jwt = keys.map(|keys| {
        jwt.keys = keys;
        jwt
    });
    section.finish();
    config.introspection = match introspection {
        Some(introspection) => Some(introspection?),
        None => None,
    };
    Some(config)
}

/// Where the keys for its JWTs are; `None` if there are none.
fn keys(section: &mut Section<'_>, is_asked: bool) -> Option<KeySource> {
    let by_uri = section.parse("jwks_uri", value::authority);
    let discovery = section.read::<bool>("discovery");
    match (by_uri, discovery) {
        (Some(_), Some(true)) => {
            section.mistake("discovery", "the keys are found by `jwks_uri` or by discovery, not both");
            None
        }
        (Some(uri), _) => Some(KeySource::JwksUri(uri)),
        (None, Some(true)) => Some(KeySource::Discovery),
        (None, None) if !is_asked => Some(KeySource::Discovery),
        (None, Some(false)) if !is_asked => {
            section.mistake("", "without discovery it needs `jwks_uri` or `introspection`");
            None
        }
        (None, _) => None,
    }
}

/// What tells the tokens that clients get for themselves.
fn clients(mut section: Section<'_>) -> Option<ClientMark> {
    if !section.has("claim") {
        section.mistake("claim", "is missing");
    }
    let claim = section.parse("claim", value::text);
    let prefix = section.parse("prefix", value::text).unwrap_or_default();
    section.finish();
    Some(ClientMark { claim: claim?, prefix })
}

fn jwt(section: &mut Section<'_>) -> JwtConfig {
    let mut jwt = JwtConfig::default();
    let algorithm = |text: &str| {
        let known = || SigningAlgorithm::ALL.map(SigningAlgorithm::as_str).join(", ");
        text.parse::<SigningAlgorithm>().map_err(|_| format!("must be one of {}", known()))
    };
    if section.take_if("algorithms", |value| value.as_array().is_some_and(Vec::is_empty)) {
        section.mistake("algorithms", "must name at least one");
    } else if section.has("algorithms") {
        jwt.algorithms = section.list("algorithms", algorithm);
    }
    if let Some(kept) = section.parse("keep_keys", value::duration(Duration::ZERO..=LONGEST_KEEPING)) {
        jwt.keep_keys = kept;
    }
    if let Some(timeout) =
        section.parse("timeout", value::duration(Duration::from_millis(100)..=LONGEST_WAIT))
    {
        jwt.timeout = timeout;
    }
    jwt
}

fn introspection(mut section: Section<'_>, directory: &Path) -> Option<IntrospectionConfig> {
    let endpoint = endpoint(&mut section);
    let client = client(&mut section, directory);
    let cache = || value::duration(Duration::ZERO..=LONGEST_CACHE);
    let timeout = section.parse("timeout", value::duration(Duration::from_millis(100)..=LONGEST_WAIT));
    let (positive, negative) = (section.parse("cache", cache()), section.parse("negative_cache", cache()));
    let (entries, concurrency) = (section.read("max_entries"), section.read("concurrency"));
    section.finish();
    let usual = IntrospectionConfig::new(endpoint?, client?);
    Some(IntrospectionConfig {
        timeout: timeout.unwrap_or(usual.timeout),
        cache: positive.unwrap_or(usual.cache),
        negative_cache: negative.unwrap_or(usual.negative_cache),
        cache_entries: entries.unwrap_or(usual.cache_entries),
        concurrency: concurrency.unwrap_or(usual.concurrency),
        ..usual
    })
}

fn endpoint(section: &mut Section<'_>) -> Option<Url> {
    if !section.has("endpoint") {
        section.mistake("endpoint", "is missing");
    }
    section.parse("endpoint", value::authority)
}

/// How the gateway authenticates itself: `auth`, by default `basic` if there is a `client_id`.
fn client(section: &mut Section<'_>, directory: &Path) -> Option<IntrospectionClient> {
    let id = section.parse("client_id", value::text);
    let secret = section.parse("client_secret_file", |text| value::secret(text, directory));
    let bearer = section.parse("token_file", |text| value::secret(text, directory));
    let auth = section.parse("auth", value::text);
    let usual = if id.is_some() {
        "basic"
    } else if bearer.is_some() {
        "bearer"
    } else {
        "none"
    };
    let pair = |section: &Section<'_>| -> Option<(String, Secret<String>)> {
        for (key, is_there) in [("client_id", id.is_some()), ("client_secret_file", secret.is_some())] {
            if !is_there {
                section.mistake(key, "is missing: `auth` needs it");
            }
        }
        id.clone().zip(secret.clone())
    };
    match auth.as_deref().unwrap_or(usual) {
        "none" => Some(IntrospectionClient::None),
        "basic" => pair(section).map(|(id, secret)| IntrospectionClient::Basic(id, secret)),
        "post" => pair(section).map(|(id, secret)| IntrospectionClient::Post(id, secret)),
        "bearer" => {
            if bearer.is_none() {
                section.mistake("token_file", "is missing: `auth` needs it");
            }
            bearer.map(IntrospectionClient::Bearer)
        }
        _ => {
            section.mistake("auth", "must be one of none, basic, post, bearer");
            None
        }
    }
}
