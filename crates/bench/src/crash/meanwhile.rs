//! What users do while something is killed: any scenario, as it is without options of its own but for the format of tokens.

use clap::ValueEnum;

use crate::scenario::{
    ClientCredentialsOptions, GatewayOptions, HardeningOptions, IntrospectOptions, Kind, ListClientsOptions,
    LoginOptions, LoginPasswordOptions, RefreshOptions, TokenFormat,
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
    /// The scenario, with access tokens of this format.
    pub(crate) fn kind(self, token: TokenFormat) -> Kind {
        let tokens = || IntrospectOptions { token, ..IntrospectOptions::default() };
        match self {
            Self::Login => Kind::Login(LoginOptions::default()),
            Self::LoginPassword => Kind::LoginPassword(LoginPasswordOptions::default()),
            Self::Refresh => Kind::Refresh(RefreshOptions::default()),
            Self::ClientCredentials => Kind::ClientCredentials(ClientCredentialsOptions { token }),
            Self::Introspect => Kind::Introspect(tokens()),
            Self::Userinfo => Kind::Userinfo(tokens()),
            Self::GetClient => Kind::GetClient,
            Self::ListClients => Kind::ListClients(ListClientsOptions::default()),
            Self::CreateClient => Kind::CreateClient,
            Self::Revoke => Kind::Revoke(ClientCredentialsOptions { token }),
            Self::Register => Kind::Register,
            Self::RegisterHarden => Kind::RegisterHarden(HardeningOptions::default()),
            Self::Gateway => Kind::Gateway(GatewayOptions { token, ..GatewayOptions::default() }),
            Self::Mix => Kind::Mix(HardeningOptions::default()),
        }
    }

    /// Whether it can be told what access tokens look like.
    pub(crate) const fn takes_format(self) -> bool {
        matches!(
            self,
            Self::ClientCredentials | Self::Introspect | Self::Userinfo | Self::Revoke | Self::Gateway
        )
    }

    /// Whether each operation waits until a password is hashed.
    pub(crate) const fn waits_for_hashes(self) -> bool {
        matches!(self, Self::LoginPassword)
    }
}
