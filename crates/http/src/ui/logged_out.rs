//! Where a logout ends that no client asked for.

use axum::response::Response;

use super::UiState;
use crate::respond::page::logged_out_page;

/// `GET /ui/logged-out`.
pub(super) async fn show(ui: UiState) -> Response {
    logged_out_page(&ui, &[], None)
}
