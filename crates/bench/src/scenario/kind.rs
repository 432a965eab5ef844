//! The scenarios by name.

use super::client_credentials::ClientCredentials;
use super::clients::{CreateClient, GetClient, ListClients};
use super::gateway::Gateway;
use super::introspect::Introspect;
use super::login::{Login, LoginPassword};
use super::mix::Mix;
use super::refresh::Refresh;
use super::register::{Register, RegisterHarden};
use super::revoke::Revoke;
use super::userinfo::Userinfo;
use super::{
    ClientCredentialsOptions, Dialect, GatewayOptions, HardeningOptions, IntrospectOptions,
    ListClientsOptions, LoginOptions, LoginPasswordOptions, LoginSessions, RefreshOptions, Scenario,
};
use crate::driver::Failure;

/// A scenario with what was said about it.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Authorization code with PKCE, login and consent accepted through the admin API: eight requests.
    Login(LoginOptions),
    /// The same through the pages of the server, with a password.
    LoginPassword(LoginPasswordOptions),
    /// A refresh token for the next.
    Refresh(RefreshOptions),
    /// A token for a client.
    ClientCredentials(ClientCredentialsOptions),
    /// What a token says.
    Introspect(IntrospectOptions),
    /// Who a token is about.
    Userinfo(IntrospectOptions),
    /// One client.
    GetClient,
    /// A page of clients.
    ListClients(ListClientsOptions),
    /// A client is made.
    CreateClient,
    /// A token is issued by client credentials and revoked: two requests.
    Revoke(ClientCredentialsOptions),
    /// Somebody registers; hardening is off.
    Register,
    /// Somebody registers, and is hardened.
    RegisterHarden(HardeningOptions),
    /// A request through the gateway.
    Gateway(GatewayOptions),
    /// A day: a quiet while, then everybody before the match. Open loop.
    Mix(HardeningOptions),
}

impl Kind {
    /// As the command line names it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Login(_) => "login",
            Self::LoginPassword(_) => "login-password",
            Self::Refresh(_) => "refresh",
            Self::ClientCredentials(_) => "client-credentials",
            Self::Introspect(_) => "introspect",
            Self::Userinfo(_) => "userinfo",
            Self::GetClient => "get-client",
            Self::ListClients(_) => "list-clients",
            Self::CreateClient => "create-client",
            Self::Revoke(_) => "revoke",
            Self::Register => "register",
            Self::RegisterHarden(_) => "register+harden",
            Self::Gateway(_) => "gateway",
            Self::Mix(_) => "mix",
        }
    }

    /// The name with its variant, as reports have it: `client-credentials (jwt)`. Of a server with [`Self::settings`].
    pub fn label(&self) -> String {
        let variant = match self {
            Self::Login(options) => login_variant(options),
            Self::LoginPassword(options) => login_variant(&options.login),
            Self::Refresh(options) => refresh_variant(options),
            Self::ClientCredentials(options) => options.token.name().to_owned(),
            Self::Revoke(options) => format!("{}, issued and revoked", options.token.name()),
            Self::Introspect(options) | Self::Userinfo(options) => options.token.name().to_owned(),
            Self::Gateway(options) => gateway_variant(options),
            Self::ListClients(options) => format!("page of {}", options.page),
            Self::Register => "hardening off".to_owned(),
            Self::GetClient | Self::CreateClient | Self::RegisterHarden(_) | Self::Mix(_) => {
                return self.name().to_owned();
            }
        };
        format!("{} ({variant})", self.name())
    }

    /// What a server that is started for it is told beside its defaults: keys and values of its configuration.
    pub const fn settings(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Register => &[("identity.hardening.enabled", "false")],
            _ => &[],
        }
    }

    /// Whether it needs a gateway, with something behind it.
    pub const fn needs_gateway(&self) -> bool {
        matches!(self, Self::Gateway(_))
    }

    /// How many listeners each of its users asks, over a connection each: login and consent are accepted at that of the admin API.
    pub const fn listeners(&self, dialect: &Dialect) -> usize {
        match (self, dialect) {
            (Self::Login(_) | Self::Refresh(_) | Self::Mix(_), Dialect::Hydra) => 2,
            _ => 1,
        }
    }

    /// Whether its operations go on with access tokens that were made before them.
    pub const fn keeps_tokens(&self) -> bool {
        matches!(self, Self::Introspect(_) | Self::Userinfo(_) | Self::Gateway(_) | Self::Mix(_))
    }

    /// Whether it is an open loop always.
    pub const fn needs_rate(&self) -> bool {
        matches!(self, Self::Mix(_))
    }

    /// Whether it asks the admin listener of a server with Hydra's API for something.
    pub const fn needs_admin(&self) -> bool {
        !matches!(self, Self::Register)
    }

    /// Whether nothing is written by an operation, but for what every request may write.
    pub const fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::Introspect(_)
                | Self::Userinfo(_)
                | Self::GetClient
                | Self::ListClients(_)
                | Self::Gateway(_)
        )
    }

    /// Whether what was said of it goes together, and can be done at a server of this kind.
    ///
    /// # Errors
    /// Why not, in a sentence for the terminal.
    pub fn check(&self, dialect: &Dialect) -> Result<(), String> {
        match (self, dialect) {
            (_, Dialect::Standard(_)) if !self.is_standard() => {
                let why = "needs Hydra's API, which is not spoken to --server standard";
                Err(format!("{} {why}", self.refusable()))
            }
            (_, Dialect::Standard(server))
                if self.needs_login() && (server.user.is_none() || server.password.is_none()) =>
            {
                Err("logins at this server need --user and --password".to_owned())
            }
            (Self::Refresh(options), Dialect::Hydra) if !is_offline(&options.scope.scope) => {
                Err("a refresh token is issued for the scope offline_access".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The scenario, for a server of this kind.
    ///
    /// # Errors
    /// [`Failure::Setup`], if a server of this kind cannot be asked for that.
    pub fn scenario(&self, dialect: &Dialect) -> Result<Box<dyn Scenario>, Failure> {
        self.check(dialect).map_err(Failure::Setup)?;
        let dialect = dialect.clone();
        Ok(match self.clone() {
            Self::Login(options) => Box::new(Login::new(dialect, options)),
            Self::LoginPassword(options) => match dialect {
                Dialect::Hydra => Box::new(LoginPassword::new(options)),
                Dialect::Standard(_) => Box::new(Login::new(dialect, options.login)),
            },
            Self::Refresh(options) => Box::new(Refresh::new(dialect, options)),
            Self::ClientCredentials(options) => Box::new(ClientCredentials::new(dialect, options)),
            Self::Introspect(options) => Box::new(Introspect::new(dialect, options)),
            Self::Userinfo(options) => Box::new(Userinfo::new(dialect, options)),
            Self::Revoke(options) => Box::new(Revoke::new(dialect, options)),
            Self::GetClient => Box::new(GetClient::default()),
            Self::ListClients(options) => Box::new(ListClients::new(options)),
            Self::CreateClient => Box::new(CreateClient),
            Self::Register => Box::new(Register::default()),
            Self::RegisterHarden(options) => Box::new(RegisterHarden::new(&options)),
            Self::Gateway(options) => Box::new(Gateway::new(options)),
            Self::Mix(options) => Box::new(Mix::new(&options)?),
        })
    }

    /// What of the command line is refused where it cannot be done.
    const fn refusable(&self) -> &'static str {
        match self {
            Self::Login(LoginOptions { sessions: LoginSessions::New, .. }) => "login --remember",
            Self::Login(LoginOptions { sessions: LoginSessions::Kept, .. }) => "login --returning",
            _ => self.name(),
        }
    }

    /// Whether somebody logs in, before the run or in it.
    const fn needs_login(&self) -> bool {
        matches!(self, Self::Login(_) | Self::LoginPassword(_) | Self::Refresh(_) | Self::Userinfo(_))
    }

    /// Whether it can be done at a server of which nothing but standards is known.
    const fn is_standard(&self) -> bool {
        matches!(
            self,
            Self::Login(LoginOptions { sessions: LoginSessions::None, .. })
                | Self::LoginPassword(_)
                | Self::Refresh(_)
                | Self::ClientCredentials(_)
                | Self::Introspect(_)
                | Self::Userinfo(_)
                | Self::Revoke(_)
        )
    }
}

fn login_variant(options: &LoginOptions) -> String {
    let id_token = if has_openid(&options.scope.scope) { options.id_token.name() } else { "without openid" };
    let client = if options.public_client { ", public client" } else { "" };
    let sessions = match options.sessions {
        LoginSessions::None => "",
        LoginSessions::New => ", remembered",
        LoginSessions::Kept => ", returning",
    };
    format!("{id_token}{client}{sessions}")
}

fn refresh_variant(options: &RefreshOptions) -> String {
    let id_token = if has_openid(&options.scope.scope) { options.id_token.name() } else { "without openid" };
    format!("{id_token}{}", if options.after_logout { ", after a logout" } else { "" })
}

fn gateway_variant(options: &GatewayOptions) -> String {
    format!("{}{}", options.token.name(), if options.unchecked { ", unchecked" } else { "" })
}

/// Whether a scope asks for an ID token.
pub(super) fn has_openid(scope: &str) -> bool {
    scope.split(' ').any(|value| value == "openid")
}

/// Whether a scope asks for a refresh token; Hydra takes `offline` as well.
pub(super) fn is_offline(scope: &str) -> bool {
    scope.split(' ').any(|value| matches!(value, "offline_access" | "offline"))
}

#[cfg(test)]
mod tests {
    use super::super::{ScopeOptions, StandardServer, TokenFormat};
    use super::*;

    fn standard() -> Dialect {
        Dialect::Standard(StandardServer {
            issuer: "http://127.0.0.1:1/".to_owned(),
            client_id: "c".to_owned(),
            client_secret: None,
            redirect_uri: "http://127.0.0.1:4446/callback".to_owned(),
            user: Some("bench".to_owned()),
            password: Some("a pass phrase".to_owned()),
        })
    }

    #[test]
    fn a_label_says_the_variant() {
        let jwt = ClientCredentialsOptions { token: TokenFormat::Jwt };
        assert_eq!(Kind::ClientCredentials(jwt.clone()).label(), "client-credentials (jwt)");
        assert_eq!(Kind::Revoke(jwt).label(), "revoke (jwt, issued and revoked)");
        assert_eq!(Kind::Login(LoginOptions::default()).label(), "login (ES256)");
        let public = LoginOptions { public_client: true, ..LoginOptions::default() };
        assert_eq!(Kind::Login(public.clone()).label(), "login (ES256, public client)");
        let remembered = LoginOptions { sessions: LoginSessions::New, ..public.clone() };
        assert_eq!(Kind::Login(remembered).label(), "login (ES256, public client, remembered)");
        let returning = LoginOptions { sessions: LoginSessions::Kept, ..public };
        assert_eq!(Kind::Login(returning).label(), "login (ES256, public client, returning)");
        assert_eq!(Kind::ListClients(ListClientsOptions::default()).label(), "list-clients (page of 250)");
        let scope = ScopeOptions { scope: "offline_access".to_owned() };
        let plain = RefreshOptions { scope, ..RefreshOptions::default() };
        assert_eq!(Kind::Refresh(plain.clone()).label(), "refresh (without openid)");
        let after_logout = RefreshOptions { after_logout: true, ..plain };
        assert_eq!(Kind::Refresh(after_logout).label(), "refresh (without openid, after a logout)");
        assert_eq!(Kind::Mix(HardeningOptions::default()).label(), "mix");
        assert_eq!(Kind::Gateway(GatewayOptions::default()).label(), "gateway (opaque)");
        let unchecked = GatewayOptions { unchecked: true, ..GatewayOptions::default() };
        assert_eq!(Kind::Gateway(unchecked).label(), "gateway (opaque, unchecked)");
        assert_eq!(Kind::Register.label(), "register (hardening off)");
        assert_eq!(Kind::RegisterHarden(HardeningOptions::default()).label(), "register+harden");
    }

    #[test]
    fn what_needs_hydras_api_is_refused_for_other_servers_in_a_sentence() {
        let refused = Kind::GetClient.scenario(&standard()).err().unwrap();
        assert!(refused.to_string().starts_with("get-client needs Hydra's API"), "{refused}");
        assert!(Kind::Userinfo(IntrospectOptions::default()).scenario(&standard()).is_ok());
        assert!(Kind::Login(LoginOptions::default()).scenario(&standard()).is_ok());
        for (sessions, option) in [(LoginSessions::New, "--remember"), (LoginSessions::Kept, "--returning")] {
            let login = LoginOptions { sessions, ..LoginOptions::default() };
            let refused = Kind::Login(login).scenario(&standard()).err().unwrap();
            assert!(
                refused.to_string().starts_with(&format!("login {option} needs Hydra's API")),
                "{refused}"
            );
        }
    }

    #[test]
    fn who_logs_in_at_another_server_is_named() {
        let Dialect::Standard(known) = standard() else { panic!("it is Hydra's") };
        let unknown = Dialect::Standard(StandardServer { password: None, ..known });
        let refused = Kind::Userinfo(IntrospectOptions::default()).check(&unknown).unwrap_err();
        assert_eq!(refused, "logins at this server need --user and --password");
        assert_eq!(Kind::ClientCredentials(ClientCredentialsOptions::default()).check(&unknown), Ok(()));
    }

    #[test]
    fn what_is_never_rotated_cannot_be_refreshed() {
        let scope = ScopeOptions { scope: "openid".to_owned() };
        let kind = Kind::Refresh(RefreshOptions { scope, ..RefreshOptions::default() });
        assert!(kind.check(&Dialect::Hydra).unwrap_err().ends_with("the scope offline_access"));
        assert_eq!(kind.check(&standard()), Ok(()), "others give one for other reasons");
    }

    #[test]
    fn everything_can_be_done_at_a_server_with_hydras_api() {
        let kinds = [
            Kind::Login(LoginOptions::default()),
            Kind::LoginPassword(LoginPasswordOptions::default()),
            Kind::Refresh(RefreshOptions::default()),
            Kind::GetClient,
            Kind::CreateClient,
            Kind::Register,
            Kind::RegisterHarden(HardeningOptions::default()),
            Kind::Gateway(GatewayOptions::default()),
            Kind::Mix(HardeningOptions::default()),
        ];
        for kind in kinds {
            assert!(kind.scenario(&Dialect::Hydra).is_ok(), "{}", kind.name());
        }
    }

    #[test]
    fn a_refresh_token_is_asked_for_by_either_name() {
        assert!(is_offline("openid offline") && is_offline("offline_access"));
        assert!(!is_offline("openid") && !has_openid("openids offline"));
    }
}
