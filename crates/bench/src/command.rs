//! The command line: one verb for each scenario, and what is more than a run of one.

mod args;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::thread::available_parallelism;

use clap::{Args, Subcommand};

pub use args::{DatabaseArgs, Dialects, OwnServerArgs, RunArgs, ServerArgs};
pub(crate) use args::{bounded_rate, check_database, lasting};

use crate::compare::CompareArgs;
use crate::crash::CrashArgs;
use crate::endurance::EnduranceArgs;
use crate::floor::FloorArgs;
use crate::growth::GrowthArgs;
use crate::scenario::{
    AcceptedLoginOptions, ClientCredentialsOptions, GatewayOptions, HardeningOptions, IntrospectOptions,
    Kind, ListClientsOptions, LoginPasswordOptions, RefreshOptions,
};

/// Users of a scenario in which each operation waits for a hash, unless it is said: four for each CPU, and sixteen at least. Fewer would not keep
/// the threads busy that hash, and more would wait for longer than a server lets anybody wait, and be turned away.
static HASHED_FOR: LazyLock<String> = LazyLock::new(|| {
    let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
    cpus.saturating_mul(4).max(16).to_string()
});

/// Measures a server: one that is started for it on a private database, or one that runs.
#[derive(Debug, Clone, Args)]
pub struct BenchCommand {
    /// What is measured.
    #[command(subcommand)]
    pub measurement: Measurement,
}

/// What is measured.
#[derive(Debug, Clone, Subcommand)]
pub enum Measurement {
    /// Authorization code with PKCE, login and consent accepted through the admin API: eight requests
    Login(Of<AcceptedLoginOptions>),
    /// The same through the server's own pages, with a password. A server lets in no more than it can hash for in time: 4 users for each
    /// CPU of this machine, and 16 at least, unless -c says otherwise
    #[command(mut_arg("connections", |connections| connections.default_value(HASHED_FOR.as_str())))]
    LoginPassword(Of<LoginPasswordOptions>),
    /// A refresh token is exchanged for the next
    Refresh(Of<RefreshOptions>),
    /// A token for a client
    ClientCredentials(Of<ClientCredentialsOptions>),
    /// What a token says
    Introspect(Of<IntrospectOptions>),
    /// Who a token is about
    Userinfo(Of<IntrospectOptions>),
    /// One client is read
    GetClient(Of<Nothing>),
    /// A page of clients is read
    ListClients(Of<ListClientsOptions>),
    /// A client is made
    CreateClient(Of<Nothing>),
    /// A token is issued to a client and revoked: two requests
    Revoke(Of<ClientCredentialsOptions>),
    /// Somebody registers; passwords are not hardened meanwhile
    Register(Of<Nothing>),
    /// Somebody registers, and passwords are hardened until none is left
    #[command(name = "register+harden")]
    RegisterHarden(Of<HardeningOptions>),
    /// A request through the gateway
    Gateway(Of<GatewayOptions>),
    /// A day: a quiet while, then everybody before the match; needs --rate (its highest), --find-knee or --half-knee
    Mix(Of<HardeningOptions>),
    /// What an operation costs with ever more in the database
    Growth(GrowthArgs),
    /// Logins at a pace for a long time, with lifetimes so short that rows die as fast as they are born
    Endurance(EnduranceArgs),
    /// Kills server or database under the load of any scenario, and compares what was answered with what is left
    Crash(CrashArgs),
    /// Runs of several systems side by side
    Compare(CompareArgs),
    /// Answers every request with "ok": what the floor is measured with
    #[command(hide = true)]
    Floor(FloorArgs),
}

/// A scenario with its own options, and those of every run.
#[derive(Debug, Clone, Args)]
pub struct Of<O: Args> {
    /// Of the scenario.
    #[command(flatten)]
    pub options: O,
    /// Of every run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// A scenario that has no options of its own.
#[derive(Debug, Clone, Args)]
pub struct Nothing {}

/// What is to be done.
pub(crate) enum Task {
    /// A scenario is run.
    Run(Kind, Box<RunArgs>),
    /// Runs are compared.
    Compare(CompareArgs),
    /// The database grows.
    Growth(Box<GrowthArgs>),
    /// It goes on for long.
    Endurance(Box<EnduranceArgs>),
    /// Something is killed.
    Crash(Box<CrashArgs>),
    /// The floor is served.
    Floor(FloorArgs),
}

impl From<Measurement> for Task {
    fn from(measurement: Measurement) -> Self {
        let (kind, run) = match measurement {
            Measurement::Login(of) => (Kind::Login(of.options.into()), of.run),
            Measurement::LoginPassword(of) => (Kind::LoginPassword(of.options), of.run),
            Measurement::Refresh(of) => (Kind::Refresh(of.options), of.run),
            Measurement::ClientCredentials(of) => (Kind::ClientCredentials(of.options), of.run),
            Measurement::Introspect(of) => (Kind::Introspect(of.options), of.run),
            Measurement::Userinfo(of) => (Kind::Userinfo(of.options), of.run),
            Measurement::GetClient(of) => (Kind::GetClient, of.run),
            Measurement::ListClients(of) => (Kind::ListClients(of.options), of.run),
            Measurement::CreateClient(of) => (Kind::CreateClient, of.run),
            Measurement::Revoke(of) => (Kind::Revoke(of.options), of.run),
            Measurement::Register(of) => (Kind::Register, of.run),
            Measurement::RegisterHarden(of) => (Kind::RegisterHarden(of.options), of.run),
            Measurement::Gateway(of) => (Kind::Gateway(of.options), of.run),
            Measurement::Mix(of) => (Kind::Mix(of.options), of.run),
            Measurement::Compare(args) => return Self::Compare(args),
            Measurement::Growth(args) => return Self::Growth(Box::new(args)),
            Measurement::Endurance(args) => return Self::Endurance(Box::new(args)),
            Measurement::Crash(args) => return Self::Crash(Box::new(args)),
            Measurement::Floor(floor) => return Self::Floor(floor),
        };
        Self::Run(kind, Box::new(run))
    }
}
