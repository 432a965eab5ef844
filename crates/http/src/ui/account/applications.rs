//! `/ui/account/applications`: who may act for the person, what they may do, and the end of it.

use std::collections::HashMap;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use sluice_commit::StoreError;
use sluice_oauth::client::Client;
use sluice_oauth::consent::{ConsentPage, InvalidPageToken, Revoke};
use sluice_oauth::grant::Grant;
use sluice_protocol::ClientId;
use tracing::info;

use super::frame::frame;
use super::member::{Member, Refused, answer};
use super::notice::Notice;
use super::place::Place;
use super::views::{ApplicationRow, ApplicationsPage, Moment};
use crate::respond::redirect::redirect;
use crate::ui::page::page;
use crate::ui::policy::Policy;
use crate::ui::views::scope_sentence;
use crate::ui::{UiState, client_host, client_name, stylesheet, web_url};

const HERE: Place = Place::Applications;
/// How many grants are read at a time, and how many times: more than anybody has.
const PAGE: u32 = 500;
const PAGES: usize = 10;

/// `GET /ui/account/applications`
pub(super) async fn show(State(ui): State<UiState>, request: Request) -> Response {
    let shown = async { look(&ui, &Member::of_page(&ui, request, HERE).await?).await };
    answer(&ui, shown.await)
}

/// `POST /ui/account/applications`
pub(super) async fn submit(State(ui): State<UiState>, request: Request) -> Response {
    let taken = async { take(&ui, &Member::of_form(&ui, request, HERE).await?).await };
    answer(&ui, taken.await)
}

async fn take(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let fields = member.visit.parameters()?;
    let client = fields.get("client").and_then(|client| client.parse::<ClientId>().ok());
    let Some(client) = client else { return Ok(redirect(StatusCode::SEE_OTHER, &HERE.url(ui))) };
    let (id, removed) = (member.identity.id, client.clone());
    ui.consents.revoke(Revoke::Client(member.subject()?, client)).await?;
    info!(target: "sluice_audit", { identity.id = %id, client.id = %removed }, "access of an application removed");
    Ok(redirect(StatusCode::SEE_OTHER, &Notice::AccessRemoved.at(ui, HERE, &member.cookie)))
}

async fn look(ui: &UiState, member: &Member) -> Result<Response, Refused> {
    let csrf = member.csrf()?;
    let view = ApplicationsPage {
        stylesheet: &stylesheet(&ui.config),
        frame: &frame(ui, member, HERE, &csrf),
        action: HERE.url(ui),
        csrf: &csrf,
        applications: applications(ui, member).await?,
    };
    Ok(page(StatusCode::OK, &view, &Policy::form(&ui.config)))
}

/// What was granted, by application; the one that was last allowed something first.
async fn applications(ui: &UiState, member: &Member) -> Result<Vec<ApplicationRow>, Refused> {
    let (mut rows, mut places, mut next) = (Vec::new(), HashMap::new(), None);
    for _ in 0..PAGES {
        let listed = ui.consents.list(member.subject()?, None, (next.as_deref(), PAGE)).await;
        let ConsentPage { grants, next: following } = listed.map_err(unlisted)?;
        for (grant, client) in grants {
            // A client that is gone has no access any more.
            let Some(client) = client else { continue };
            let place = *places.entry(grant.client.clone()).or_insert_with(|| {
                rows.push(row(&client, &grant));
                rows.len() - 1
            });
            if let Some(row) = rows.get_mut(place) {
                add(row, &grant);
            }
        }
        next = following;
        if next.is_none() {
            break;
        }
    }
    Ok(rows)
}

fn row(client: &Client, grant: &Grant) -> ApplicationRow {
    ApplicationRow {
        client: client.id.to_string(),
        name: client_name(client).to_owned(),
        host: client_host(client),
        url: web_url(&client.client_uri).map(str::to_owned),
        scopes: Vec::new(),
        since: Moment::new(grant.consented_at),
    }
}

/// One more grant of an application.
fn add(row: &mut ApplicationRow, grant: &Grant) {
    for scope in grant.scope.iter().map(scope_sentence) {
        if !row.scopes.iter().any(|known| known == scope) {
            row.scopes.push(scope.to_owned());
        }
    }
    if grant.consented_at < row.since.at {
        row.since = Moment::new(grant.consented_at);
    }
}

fn unlisted(error: InvalidPageToken) -> Refused {
    match error {
        InvalidPageToken::Store(error) => error.into(),
        InvalidPageToken::Token => StoreError::Invalid(error.to_string()).into(),
    }
}
