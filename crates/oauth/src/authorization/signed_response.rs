//! Answers of the authorization endpoint, plain or as one signed parameter (JWT Secured Authorization Response Mode, JARM).

use super::error::{RedirectedError, ShownError};
use super::response::{Location, ResponseTarget};
use super::service::AuthorizationService;
use crate::client::Client;

impl AuthorizationService {
    /// Where an error takes the browser.
    ///
    /// # Errors
    /// [`ShownError`] if the client wants its answers signed, and this one could not be.
    pub async fn location(&self, error: &RedirectedError) -> Result<Location, ShownError> {
        let target = &error.target;
        let parameters = [("error", error.error.as_str()), ("error_description", &error.description)];
        // It has a character at least, if there is one (RFC 6749 appendix A.8).
        let said: &[_] = if error.description.is_empty() { &parameters[..1] } else { &parameters };
        if target.mode.is_signed() {
            let client = self.clients.named(&target.client).await?;
            return self.signed(target, &client, said).await;
        }
        // An error waits for no store: it may be what tells of one that does not answer. Whoever was looked at for the request is in memory; a
        // client that is not is told it as most are.
        let client = self.clients.in_memory(&target.client);
        Ok(target.respond(said, self.issuer_for(client.as_deref())))
    }

    /// An answer with these parameters, `state`, and who answers. In a signed one that stands inside, and nowhere else
    /// (RFC 9207 §2.4).
    pub(super) async fn answer(
        &self,
        (target, client): (&ResponseTarget, &Client),
        parameters: &[(&str, &str)],
    ) -> Result<Location, ShownError> {
        if target.mode.is_signed() {
            return self.signed(target, client, parameters).await;
        }
        Ok(target.respond(parameters, self.issuer_for(Some(client))))
    }

    async fn signed(
        &self,
        target: &ResponseTarget,
        client: &Client,
        parameters: &[(&str, &str)],
    ) -> Result<Location, ShownError> {
        let parameters = target.with_state(parameters);
        let token = self.issuer.authorization_response(client, parameters, self.clock.now()).await;
        Ok(target.carry([("response", token.map_err(ShownError::Unsigned)?.as_str())]))
    }

    /// Who answers, for a client that is told in an answer that is not signed.
    fn issuer_for(&self, client: Option<&Client>) -> Option<&str> {
        let omits = client.is_some_and(|client| client.formats.omits_issuer);
        (!omits).then(|| self.config.issuer.as_str())
    }
}
