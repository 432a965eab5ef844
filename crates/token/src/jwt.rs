//! JWT access tokens (RFC 9068). Public claims for resource servers, and one sealed claim with what only this server
//! acts on: so a JWT is revoked and introspected like any other token, although nothing of it is stored.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sluice_crypto::jws::{SigningKey, VerifiedJws};
use sluice_crypto::{Purpose, Sealer};
use sluice_primitives::{Rng, Timestamp};
use sluice_protocol::{JsonObject, WriteJson};

use crate::claims::AccessTokenClaims;
use crate::sealed::{NotAToken, decode, encode_for_jwt};

/// The name of the sealed claim. Nothing else that this server signs may have a claim of that name: it is what an access token is
/// known by.
pub const FACTS: &str = "slc";

/// `typ` of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderType {
    /// `at+jwt` (RFC 9068 §2.1).
    #[default]
    AccessToken,
    /// `JWT`, for verifiers that take nothing else. Id tokens have it too.
    Plain,
}

impl HeaderType {
    const ALL: [Self; 2] = [Self::AccessToken, Self::Plain];

    /// The one of this name, in whatever case: it is a media type (RFC 7515 §4.1.9).
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.as_str().eq_ignore_ascii_case(name))
    }

    /// As it stands in the header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AccessToken => "at+jwt",
            Self::Plain => "JWT",
        }
    }
}

/// How header and public claims are spelled.
#[derive(Debug, Clone)]
pub struct JwtLayout {
    /// `typ`.
    pub typ: HeaderType,
    /// `iss`.
    pub issuer: String,
    /// Names of consent claims that stand at the top level.
    pub top_level: Vec<String>,
    /// Which consent claims stand below `ext`.
    pub below_ext: BelowExt,
    /// Whether `nbf` is told.
    pub not_before: bool,
    /// `scope` as text, `scp` as list, or both.
    pub scope_claim: ScopeClaim,
}

/// Which consent claims stand below `ext` (Hydra's `oauth2.mirror_top_level_claims` and `oauth2.preserve_ext_claims`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BelowExt {
    /// All, those at the top level once more.
    #[default]
    All,
    /// Those that are not at the top level.
    Rest,
    /// None.
    Nothing,
}

/// Which claims tell the scope (Hydra's `strategies.jwt.scope_claim`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScopeClaim {
    /// `scp`, a list.
    List,
    /// `scope`, one text (RFC 9068 §2.2.3).
    #[default]
    Text,
    /// Both.
    Both,
}

#[cfg_attr(test, derive(serde::Serialize))]
struct Public<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a [String],
    client_id: &'a str,
    exp: i64,
    iat: i64,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    nbf: Option<i64>,
    jti: String,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    scope: Option<&'a str>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    scp: Option<Vec<&'a str>>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    auth_time: Option<i64>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    acr: Option<&'a str>,
    #[cfg_attr(test, serde(skip_serializing_if = "<[String]>::is_empty"))]
    amr: &'a [String],
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    cnf: Option<Value>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    act: Option<Box<RawValue>>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    authorization_details: Option<Box<RawValue>>,
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    ext: Option<Map<String, Value>>,
    slc: String,
    #[cfg_attr(test, serde(flatten))]
    top_level: Map<String, Value>,
}

impl WriteJson for Public<'_> {
    fn write_json(&self, text: &mut Vec<u8>) {
        let mut object = JsonObject::begin(text);
        object.text("iss", self.iss);
        object.text("sub", self.sub);
        object.texts("aud", self.aud);
        object.text("client_id", self.client_id);
        object.number("exp", self.exp);
        object.number("iat", self.iat);
        object.number_if("nbf", self.nbf);
        object.text("jti", &self.jti);
        object.text_if("scope", self.scope);
        if let Some(scp) = &self.scp {
            object.texts("scp", scp);
        }
        object.number_if("auth_time", self.auth_time);
        object.text_if("acr", self.acr);
        if !self.amr.is_empty() {
            object.texts("amr", self.amr);
        }
        object.value_if("cnf", self.cnf.as_ref());
        object.raw_if("act", self.act.as_deref());
        object.raw_if("authorization_details", self.authorization_details.as_deref());
        object.value_if("ext", self.ext.as_ref());
        object.text(FACTS, &self.slc);
        object.members(&self.top_level);
        object.end();
    }
}

/// What most payloads fit into, in bytes.
const USUAL: usize = 1024;

/// Writes a JWT; `extra` are the consent claims.
///
/// # Errors
/// The signing key's.
pub fn write(
    claims: &AccessTokenClaims,
    extra: &Map<String, Value>,
    layout: &JwtLayout,
    key: &SigningKey,
    (sealer, rng): (&Sealer, &dyn Rng),
) -> Result<String, sluice_crypto::jws::SignError> {
    let raw = |text: &Option<String>| text.clone().and_then(|text| RawValue::from_string(text).ok());
    let top_level = layout.top_level.iter().filter(|name| !is_reserved(name));
    let top_level: Map<_, _> =
        top_level.filter_map(|name| Some((name.clone(), extra.get(name)?.clone()))).collect();
    let public = Public {
        iss: &layout.issuer,
        sub: claims.visible_subject(),
        // RFC 9068 §3: a token that was asked for no resource is for a default one.
        aud: if claims.audience.is_empty() { std::slice::from_ref(&layout.issuer) } else { &claims.audience },
        client_id: claims.client.as_str(),
        exp: claims.expires_at.as_secs(),
        iat: claims.issued_at.as_secs(),
        nbf: layout.not_before.then(|| claims.issued_at.as_secs()),
        jti: claims.id.to_string(),
        scope: (layout.scope_claim != ScopeClaim::List).then(|| claims.scope.as_str()),
        scp: (layout.scope_claim != ScopeClaim::Text).then(|| claims.scope.iter().collect()),
        auth_time: claims.logged_in_at().map(Timestamp::as_secs),
        acr: claims.rare.acr.as_deref(),
        amr: &claims.rare.amr,
        cnf: claims.rare.confirmation.map(|confirmation| confirmation.to_json()),
        act: raw(&claims.rare.actor),
        authorization_details: raw(&claims.rare.authorization_details),
        ext: below_ext(layout.below_ext, extra, &top_level),
        slc: sealer.seal(Purpose::TokenFacts, &encode_for_jwt(claims), rng),
        top_level,
    };
    let mut payload = Vec::with_capacity(USUAL);
    public.write_json(&mut payload);
    key.sign(Some(layout.typ.as_str()), &payload)
}

/// Reads the facts of a JWT whose signature was verified. Either `typ` counts whatever is configured, so that another setting ends no
/// token: that it is no id token is shown by the sealed claim.
///
/// # Errors
/// [`NotAToken`] if it carries none of ours: an id token, say.
pub fn read(verified: &VerifiedJws, sealer: &Sealer) -> Result<AccessTokenClaims, NotAToken> {
    #[derive(Deserialize)]
    struct Facts {
        slc: String,
    }
    let typ = verified.header.typ.as_deref();
    if !HeaderType::ALL.iter().any(|own| typ == Some(own.as_str())) {
        return Err(NotAToken::Content);
    }
    let facts: Facts = verified.claims().map_err(|_| NotAToken::Content)?;
    decode(&sealer.open(Purpose::TokenFacts, &facts.slc)?)
}

/// Whether a JWT of this server has the sealed claim, and so is no id token, whatever its `typ`. A secret that is gone makes no id
/// token of it: the form of a sealed value is enough, which nothing has that a page of an earlier version said by that name.
pub fn has_facts(verified: &VerifiedJws) -> bool {
    #[derive(Deserialize)]
    struct Facts {
        slc: Option<Value>,
    }
    let facts = verified.claims::<Facts>().ok().and_then(|facts| facts.slc);
    facts.as_ref().and_then(Value::as_str).is_some_and(Sealer::is_of_form)
}

/// `ext`. Where it has all claims it is there without any, as with Hydra: resource servers look into it unasked.
fn below_ext(
    which: BelowExt,
    extra: &Map<String, Value>,
    top_level: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let is_below = |name: &String| match which {
        BelowExt::All => true,
        BelowExt::Rest => !top_level.contains_key(name),
        BelowExt::Nothing => false,
    };
    let below = extra.iter().filter(|(name, _)| is_below(name));
    let below: Map<_, _> = below.map(|(name, value)| (name.clone(), value.clone())).collect();
    (which == BelowExt::All || !below.is_empty()).then_some(below)
}

/// Whether a consent claim may not stand at the top level, because the server speaks there.
pub fn is_reserved(name: &str) -> bool {
    const RESERVED: [&str; 19] = [
        "iss",
        "sub",
        "aud",
        "exp",
        "iat",
        "nbf",
        "jti",
        "client_id",
        "scope",
        "scp",
        "ext",
        "auth_time",
        "acr",
        "amr",
        "cnf",
        "act",
        "may_act",
        "authorization_details",
        FACTS,
    ];
    RESERVED.contains(&name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn public_claims_are_written_as_a_serializer_writes_them() {
        let texts = ["a".to_owned(), "\"\\\n".to_owned()];
        let map = json!({"x": "y", "\"": [1], "n": null}).as_object().cloned().unwrap_or_default();
        let raw = || RawValue::from_string(r#"{"sub":"a"}"#.to_owned()).ok();
        for is_full in [false, true] {
            let public = Public {
                iss: "https://id.example/",
                sub: "žofie",
                aud: if is_full { &texts } else { &texts[..1] },
                client_id: "app",
                exp: 1_800_000_000,
                iat: -1,
                nbf: is_full.then_some(0),
                jti: "j".to_owned(),
                scope: is_full.then_some("openid \"x\""),
                scp: is_full.then(|| vec!["openid", "x"]),
                auth_time: is_full.then_some(1),
                acr: is_full.then_some("aal1"),
                amr: if is_full { &texts } else { &[] },
                cnf: is_full.then(|| json!({"jkt": "x"})),
                act: raw().filter(|_| is_full),
                authorization_details: raw().filter(|_| is_full),
                ext: is_full.then(|| map.clone()),
                slc: "s".to_owned(),
                top_level: if is_full { map.clone() } else { Map::new() },
            };
            let mut text = Vec::new();
            public.write_json(&mut text);
            assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(&public).unwrap());
        }
    }
}
