//! What users do while something is killed: any scenario, as it is without options of its own.

use clap::ValueEnum;

use crate::scenario::{
    ClientCredentialsOptions, GatewayOptions, HardeningOptions, IntrospectOptions, Kind, ListClientsOptions,
    LoginOptions, LoginPasswordOptions, RefreshOptions,
};

/// A scenario, and what its answers promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Meanwhile {
    /// Codes are redeemed, tokens issued
    Login,
    /// The same through the pages of the server, with passwords
    LoginPassword,
    /// Refresh tokens are rotated
    Refresh,
    /// Tokens are issued to clients
    ClientCredentials,
    /// Tokens are asked about that were issued before
    Introspect,
    /// People are asked about who logged in before
    Userinfo,
    /// A client is read that was made before
    GetClient,
    /// Clients are listed that were made before
    ListClients,
    /// Clients are made
    CreateClient,
    /// Tokens are revoked
    Revoke,
    /// People are registered
    Register,
    /// People are registered, and passwords are hardened meanwhile
    #[value(name = "register+harden")]
    RegisterHarden,
    /// Requests go through the gateway, with tokens that were issued before
    Gateway,
    /// Logins, refreshes, registrations, introspection and userinfo, in a closed loop
    Mix,
}

impl Meanwhile {
    /// The scenario.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Login => Kind::Login(LoginOptions::default()),
            Self::LoginPassword => Kind::LoginPassword(LoginPasswordOptions::default()),
            Self::Refresh => Kind::Refresh(RefreshOptions::default()),
            Self::ClientCredentials => Kind::ClientCredentials(ClientCredentialsOptions::default()),
            Self::Introspect => Kind::Introspect(IntrospectOptions::default()),
            Self::Userinfo => Kind::Userinfo(IntrospectOptions::default()),
            Self::GetClient => Kind::GetClient,
            Self::ListClients => Kind::ListClients(ListClientsOptions::default()),
            Self::CreateClient => Kind::CreateClient,
            Self::Revoke => Kind::Revoke(ClientCredentialsOptions::default()),
            Self::Register => Kind::Register,
            Self::RegisterHarden => Kind::RegisterHarden(HardeningOptions::default()),
            Self::Gateway => Kind::Gateway(GatewayOptions::default()),
            Self::Mix => Kind::Mix(HardeningOptions::default()),
        }
    }
}
