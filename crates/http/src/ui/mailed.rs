//! Where a mail went, in the address of the page that waits for its code: a page that is loaded again sends no other mail. It is sealed,
//! and is told to the browser alone that asked for the mail: no link of anybody else puts an address on a page. So an address that was
//! typed on one page goes along to the next, too: nobody types it twice.

use sluice_crypto::Purpose;
use sluice_primitives::{Lifetime, Timestamp};
use sluice_protocol::Parameters;

use super::problem::Problem;
use super::standalone::page_url;
use super::visit::Visit;
use super::{RECOVERY_CODE, UiState};

/// The parameter of the address, or the field of a form that keeps it.
pub(super) const MAILED: &str = "mailed";
/// For how long it is told, but of a recovery: there for as long as the code is good. Later the page asks for the address, too.
const TOLD: Lifetime = Lifetime::hours(1);
/// An address is filled up to a multiple of so many bytes, and none has as many: all look alike from outside.
const BLOCK: usize = 256;

/// A page of ours, and the flow that waits there, if one does.
type Here<'a> = (&'a str, Option<&'a str>);

/// The address of this page that says to this browser that a mail went to `email`.
///
/// # Errors
/// [`Problem::NoCookie`] if the browser presents nothing that it could be told from others by.
pub(super) fn page_after(
    ui: &UiState,
    visit: &Visit,
    here: Here<'_>,
    email: &str,
) -> Result<String, Problem> {
    let sealed = sealed(ui, visit, here, email).ok_or(Problem::NoCookie { restart: None })?;
    let (page, challenge) = here;
    Ok(with_sealed(&page_url(ui, page, challenge), &sealed))
}

/// The address `url` of this page, which takes along to it what somebody typed elsewhere, for this browser alone. As it is where there is
/// nothing to take along, or the browser could not be told from others.
pub(super) fn taken_along(
    ui: &UiState,
    visit: &Visit,
    here: Here<'_>,
    (url, email): (String, &str),
) -> String {
    // Before it is sealed: what is no address may be as long as a form.
    if email.trim().is_empty() || email.len() >= BLOCK {
        return url;
    }
    match sealed(ui, visit, here, email) {
        Some(sealed) => with_sealed(&url, &sealed),
        None => url,
    }
}

fn with_sealed(url: &str, sealed: &str) -> String {
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}{MAILED}={sealed}")
}

/// The address, for this page of this browser; none if nothing tells that from others.
fn sealed(ui: &UiState, visit: &Visit, here: Here<'_>, email: &str) -> Option<String> {
    let keys = visit.browser.binding_keys();
    let key = keys.0.first()?;
    let (mark, at) = (key.form_token(&marked(here)), ui.accounts.clock.now().as_millis());
    let mut filled = email.trim().as_bytes().to_vec();
    filled.resize(filled.len().next_multiple_of(BLOCK), 0);
    let bytes = [&mark[..], &at.to_be_bytes(), &filled].concat();
    Some(ui.accounts.sealer.seal(Purpose::MailedAddress, &bytes, &*ui.accounts.rng))
}

/// Where a mail went, as the address of this page says to this browser.
pub(super) fn address(
    ui: &UiState,
    visit: &Visit,
    here: Here<'_>,
    fields: &Parameters<'_>,
) -> Option<String> {
    let bytes = ui.accounts.sealer.open(Purpose::MailedAddress, fields.get(MAILED)?).ok()?;
    let (mark, bytes) = bytes.split_first_chunk::<16>()?;
    let (at, filled) = bytes.split_first_chunk::<8>()?;
    let until = Timestamp::from_millis(i64::from_be_bytes(*at)) + told_for(ui, here);
    let is_own = visit.browser.binding_keys().hold_form(&marked(here), mark);
    let email = str::from_utf8(filled).ok().filter(|_| is_own && ui.accounts.clock.now() < until)?;
    Some(email.trim_end_matches('\0').to_owned())
}

fn told_for(ui: &UiState, (page, _): Here<'_>) -> Lifetime {
    if page == RECOVERY_CODE { ui.accounts.config.codes.recover } else { TOLD }
}

/// What is marked with the key of a browser: no form has this path.
fn marked((page, challenge): Here<'_>) -> String {
    format!("mailed {page} {}", challenge.unwrap_or_default())
}
