//! Which client a request to the authorization endpoint is about that was refused here: for the log. Nothing of it is believed.

use super::error::ShownError;
use super::service::AuthorizationService;
use crate::client_auth::named::{client_parameter, parameter};

impl AuthorizationService {
    /// The client of the flow whose verifier is in the query, or else the one that the query names. A flow is opened once more for
    /// that; but not where it did not open, or the store failed, which may take its time to fail again.
    pub async fn asked_by(&self, query: &[u8], error: &ShownError) -> Option<String> {
        let request = match (parameter(query, "login_verifier"), parameter(query, "consent_verifier")) {
            (None, None) => return client_parameter(query),
            _ if !opens(error) => return None,
            (_, Some(verifier)) => self.flows.open_consent_verifier(&verifier).await.ok()?.request,
            (Some(verifier), None) => self.flows.open_login_verifier(&verifier).await.ok()?.request,
        };
        Some(request.client.to_string())
    }
}

/// Whether the verifier of a leg that ended so opens.
const fn opens(error: &ShownError) -> bool {
    !matches!(error, ShownError::Verifier(_) | ShownError::Store(_))
}
