//! `sluice demo`.

use clap::Args;

/// Starts the server with an example application, or plays its login without a browser.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoCommand {
    /// Play a login over HTTP, print each step with its time, and end
    #[arg(long = "headless")]
    pub(crate) is_headless: bool,
    /// The port of the public endpoints
    #[arg(long, value_name = "PORT")]
    pub(crate) public_port: Option<u16>,
    /// The port of the admin endpoints
    #[arg(long, value_name = "PORT")]
    pub(crate) admin_port: Option<u16>,
    /// The port of the example application
    #[arg(long, value_name = "PORT")]
    pub(crate) app_port: Option<u16>,
}
