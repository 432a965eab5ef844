//! What can be said about a scenario on the command line.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};

use crate::target::{GATEWAY_PATH, GATEWAY_SCOPE};

/// How the server is spoken to.
#[derive(Debug, Clone, Default)]
pub enum Dialect {
    /// Hydra's API: what a scenario needs is made through the admin listener.
    #[default]
    Hydra,
    /// Standards alone: endpoints by discovery, a client and a user that are there already.
    Standard(StandardServer),
}

/// A server that is known by its issuer alone.
#[derive(Debug, Clone)]
pub struct StandardServer {
    /// `issuer`, below which its discovery document is.
    pub issuer: String,
    /// A client that may do what the scenario does; it authenticates with `client_secret_basic`.
    pub client_id: String,
    /// Its secret; without one it is public.
    pub client_secret: Option<String>,
    /// A redirect URI of the client, where nothing has to listen.
    pub redirect_uri: String,
    /// Who logs in through the pages of the server.
    pub user: Option<String>,
    /// The password of that user.
    pub password: Option<String>,
}

/// How an ID token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum IdTokenAlgorithm {
    /// ECDSA with P-256.
    #[default]
    #[value(name = "ES256")]
    Es256,
    /// RSA.
    #[value(name = "RS256")]
    Rs256,
}

impl IdTokenAlgorithm {
    /// Its name in JOSE.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }
}

/// What access tokens look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum TokenFormat {
    /// The server's own.
    #[default]
    Opaque,
    /// Signed (RFC 9068).
    Jwt,
}

impl TokenFormat {
    /// Its name in `access_token_strategy`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opaque => "opaque",
            Self::Jwt => "jwt",
        }
    }
}

/// Of logins.
#[derive(Debug, Clone, Default, Args)]
pub struct LoginOptions {
    /// How the ID token is signed
    #[arg(long, value_enum, default_value_t)]
    pub id_token: IdTokenAlgorithm,
    /// A client without a secret, with PKCE alone
    #[arg(long)]
    pub public_client: bool,
    /// What is asked for
    #[command(flatten)]
    pub scope: ScopeOptions,
    /// Which sessions there are. Not every scenario lets itself be told.
    #[arg(skip)]
    pub sessions: LoginSessions,
}

/// What sessions logins begin, or go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoginSessions {
    /// None: the browser is new each time, and nothing is remembered.
    #[default]
    None,
    /// The browser is new each time, and each login is remembered.
    New,
    /// Each user keeps a browser, which is signed in after the first login: the application for logins is told to skip.
    Kept,
}

/// Of logins that an application for logins accepts.
#[derive(Debug, Clone, Default, Args)]
pub struct AcceptedLoginOptions {
    /// What every login has
    #[command(flatten)]
    pub login: LoginOptions,
    /// Accept with `remember`, as most applications for logins do: a session is stored with each login. Browsers are new all the same
    #[arg(long)]
    pub remember: bool,
    /// Each user keeps a browser that is signed in: the login is skipped, and its session goes on
    #[arg(long, conflicts_with = "remember")]
    pub returning: bool,
}

impl From<AcceptedLoginOptions> for LoginOptions {
    fn from(options: AcceptedLoginOptions) -> Self {
        let sessions = match (options.remember, options.returning) {
            (_, true) => LoginSessions::Kept,
            (true, false) => LoginSessions::New,
            (false, false) => LoginSessions::None,
        };
        Self { sessions, ..options.login }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Args)]
pub struct ScopeOptions {
    /// The scope of the request
    #[arg(long, default_value = "openid offline_access")]
    pub scope: String,
}

impl Default for ScopeOptions {
    fn default() -> Self {
        Self { scope: "openid offline_access".to_owned() }
    }
}

/// Of logins through the pages of the server.
#[derive(Debug, Clone, Default, Args)]
pub struct LoginPasswordOptions {
    /// What every login has
    #[command(flatten)]
    pub login: LoginOptions,
    /// People who log in, made before the run; by default one for each user
    #[arg(long)]
    pub people: Option<usize>,
}

/// Of refreshes.
#[derive(Debug, Clone, Default, Args)]
pub struct RefreshOptions {
    /// How the ID token is signed, if the scope has openid
    #[arg(long, value_enum, default_value_t)]
    pub id_token: IdTokenAlgorithm,
    /// With openid an ID token is issued each time, without it none
    #[command(flatten)]
    pub scope: ScopeOptions,
    /// Sign somebody else out when all have their grants: each refresh then looks whether that has ended its own
    #[arg(long)]
    pub after_logout: bool,
}

/// Of client credentials.
#[derive(Debug, Clone, Default, Args)]
pub struct ClientCredentialsOptions {
    /// What the access token looks like
    #[arg(long, value_enum, default_value_t)]
    pub token: TokenFormat,
}

/// Of introspection and userinfo.
#[derive(Debug, Clone, Default, Args)]
pub struct IntrospectOptions {
    /// What the access tokens look like
    #[arg(long, value_enum, default_value_t)]
    pub token: TokenFormat,
    /// How many different ones; by default one for each user
    #[arg(long)]
    pub tokens: Option<NonZeroUsize>,
}

/// Of a list of clients.
#[derive(Debug, Clone, Args)]
pub struct ListClientsOptions {
    /// Clients on the page, 1,000 at most; so many are made before the run
    #[arg(long, default_value_t = 250, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1000))]
    pub page: usize,
}

impl Default for ListClientsOptions {
    fn default() -> Self {
        Self { page: 250 }
    }
}

/// Of registrations that are hardened.
#[derive(Debug, Clone, Args)]
pub struct HardeningOptions {
    /// How long to wait until all who registered are hardened: after the last operation, and with mix also before the first. A server
    /// that hardens nobody for 15 seconds is not waited for
    #[arg(long, default_value = "60s", value_parser = humantime::parse_duration)]
    pub drain: Duration,
}

impl Default for HardeningOptions {
    fn default() -> Self {
        Self { drain: Duration::from_mins(1) }
    }
}

/// Of requests through the gateway.
#[derive(Debug, Clone, Args)]
pub struct GatewayOptions {
    /// What the access token looks like
    #[arg(long, value_enum, default_value_t)]
    pub token: TokenFormat,
    /// How many different ones; by default one for each user
    #[arg(long)]
    pub tokens: Option<NonZeroUsize>,
    /// What is asked for
    #[arg(long, default_value = GATEWAY_PATH)]
    pub path: String,
    /// The scope of the access token, as the route takes it
    #[arg(long, default_value = GATEWAY_SCOPE)]
    pub scope: String,
    /// It may let everybody through: what a proxy costs that checks no token, to compare with
    #[arg(long)]
    pub unchecked: bool,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        let (path, scope) = (GATEWAY_PATH.to_owned(), GATEWAY_SCOPE.to_owned());
        Self { token: TokenFormat::Opaque, tokens: None, path, scope, unchecked: false }
    }
}
