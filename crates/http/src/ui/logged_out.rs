//! Where a logout ends that no client asked for.

use axum::extract::State;
use axum::response::Response;

use super::UiState;
use crate::respond::page::logged_out_page;

/// `GET /ui/logged-out`.
pub(super) async fn show(State(ui): State<UiState>) -> Response {
    logged_out_page(&ui.config, &[], None)
}
