//! What the program of the server knows and the benchmark does not, which speaks to it over HTTP only: how its refresh tokens are sealed.
//! Whoever starts the benchmark may tell it.

use std::path::PathBuf;

use async_trait::async_trait;

/// A server that the benchmark has started.
pub struct StartedServer {
    /// What it was told over its defaults, keys and values; of two values of a key the later counts.
    pub settings: Vec<(String, String)>,
    /// Where it keeps its files (`--data-dir`).
    pub folder: PathBuf,
}

/// Knows servers of its own program from inside.
#[async_trait(?Send)]
pub trait Inside {
    /// Refresh tokens like this one, which that server has issued.
    ///
    /// # Errors
    /// A sentence for the terminal.
    async fn refresh_tokens(
        &self,
        server: &StartedServer,
        like: &str,
    ) -> Result<Box<dyn RefreshTokens>, String>;
}

/// Refresh tokens that differ from one that was issued in their grants alone.
pub trait RefreshTokens {
    /// The grant of the one that was issued, as the database has it.
    fn grant(&self) -> String;

    /// The token of another grant that is as far as that one; `None` if this is no id of a grant.
    fn of(&self, grant: &str) -> Option<String>;
}
