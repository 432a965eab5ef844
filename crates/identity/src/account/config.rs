//! What the account service is told.

use url::Url;

use crate::config::CodeConfig;

/// What the account service is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountConfig {
    /// Where mails lead to.
    pub links: AccountLinks,
    /// How long codes are good.
    pub codes: CodeConfig,
}

/// The pages that mails lead to. A link that carries a code has it, sealed, in the parameter `token`; the page must not
/// spend it before a person has confirmed, because programs that look through mail follow links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountLinks {
    /// Where people log in, with no application that waits for it; none where there is no such page.
    pub login: Option<Url>,
    /// Where an address is verified.
    pub verify: Url,
    /// Where recovery begins, and, with a `token`, goes on.
    pub recover: Url,
    /// Where another address is confirmed.
    pub change_email: Url,
}
