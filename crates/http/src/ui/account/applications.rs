//! `/ui/account/applications`: who may act for the person, what they may do, and the end of it.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use sluice_commit::StoreError;
use sluice_oauth::client::Client;
use sluice_oauth::consent::{ConsentEntry, ConsentPage, Grantee, InvalidPageToken, ListConsents};
use sluice_oauth::grant::Listed;
use sluice_protocol::ClientId;
use tokio::time::Instant;
use tracing::info;

use super::frame::frame;
use super::member::{Member, Refused, answer};
use super::notice::Notice;
use super::place::Place;
use super::views::{AllowedScope, ApplicationRow, ApplicationsPage, Moment};
use crate::respond::redirect::redirect;
use crate::ui::page::page;
use crate::ui::policy::Policy;
use crate::ui::views::scope_sentence;
use crate::ui::{UiState, client_host, client_name};

const HERE: Place = Place::Applications;
/// How many consents are read at a time, and how many times: more than anybody has.
const PAGE: u32 = 500;
const PAGES: usize = 10;
/// How long descriptions of applications are waited for, all of them together. What comes later is shown the next time.
const PATIENCE: Duration = Duration::from_millis(250);

/// `GET /ui/account/applications`
pub(super) async fn show(ui: UiState, request: Request) -> Response {
    let shown = async { look(&ui, &Member::of_page(&ui, request, HERE).await?).await };
    answer(&ui, shown.await)
}

/// `POST /ui/account/applications`
pub(super) async fn submit(ui: UiState, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let client = fields.get("client").and_then(|client| client.parse::<ClientId>().ok());
    let Some(client) = client else { return Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui))) };
    let (id, removed) = (member.identity.id, client.clone());
    if !ui.consents.revoke_granted(member.subject()?, client).await? {
        // It has no access, or no longer.
        return Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui)));
    }
    info!(target: "sluice_audit", { identity.id = %id, client.id = %removed }, "access of an application removed");
    Ok(redirect(StatusCode::SEE_OTHER, &Notice::AccessRemoved.at(ui, HERE, &member.cookie)))
}

async fn look(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let csrf = member.csrf()?;
    let view = ApplicationsPage {
        brand: &ui.brand(),
        frame: &frame(ui, member, HERE, &csrf),
        action: HERE.url(ui),
        csrf: &csrf,
        applications: applications(ui, member).await?,
    };
    Ok(page(ui, StatusCode::OK, &view, &Policy::form(&ui.config)))
}

/// What was granted or is remembered to be, by application: those whose consent is remembered first, then the one that was last
/// allowed something.
async fn applications(ui: &UiState, member: &Member) -> Result<Vec<ApplicationRow>, Refused> {
    let (mut rows, mut places) = (Vec::new(), HashMap::new());
    let mut asked = ListConsents {
        subject: member.subject()?,
        session: None,
        grants: Listed::All,
        page_token: None,
        page_size: PAGE,
        wait_until: Instant::now() + PATIENCE,
    };
    for _ in 0..PAGES {
        let ConsentPage { entries, next } = ui.consents.list(&asked).await.map_err(unlisted)?;
        for (entry, grantee) in entries {
            // A client that is gone has no access any more.
            if matches!(grantee, Grantee::Gone) {
                continue;
            }
            let place = *places.entry(entry.client.clone()).or_insert_with(|| {
                rows.push(row(grantee.client(), &entry));
                rows.len() - 1
            });
            if let Some(row) = rows.get_mut(place) {
                add(row, &entry);
            }
        }
        if next.is_none() {
            break;
        }
        asked.page_token = next;
    }
    Ok(rows)
}

/// An application whose description cannot be had now is shown by its id.
fn row(client: Option<&Client>, entry: &ConsentEntry) -> ApplicationRow {
    ApplicationRow {
        client: entry.client.to_string(),
        name: client.map_or_else(|| entry.client.as_str(), client_name).to_owned(),
        host: client_host(&entry.client),
        url: client.and_then(|client| client.link(&client.client_uri)).map(str::to_owned),
        scopes: Vec::new(),
        since: Moment::new(entry.decided_at),
    }
}

/// One more consent to an application.
fn add(row: &mut ApplicationRow, entry: &ConsentEntry) {
    for scope in entry.scope.iter() {
        let words = scope_sentence(scope);
        if !row.scopes.iter().any(|known| known.words == words) {
            row.scopes.push(AllowedScope { words: words.to_owned(), is_sentence: words != scope });
        }
    }
    if entry.decided_at < row.since.at {
        row.since = Moment::new(entry.decided_at);
    }
}

fn unlisted(error: InvalidPageToken) -> Refused {
    match error {
        InvalidPageToken::Store(error) => error.into(),
        InvalidPageToken::Token => StoreError::Invalid(error.to_string()).into(),
    }
}
