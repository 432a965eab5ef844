//! Answers of the authorization endpoint, plain or as one signed parameter (JWT Secured Authorization Response Mode, JARM).

use super::error::{RedirectedError, ShownError};
use super::response::{Location, ResponseTarget};
use super::service::AuthorizationService;

impl AuthorizationService {
    /// Where an error takes the browser.
    ///
    /// # Errors
    /// [`ShownError`] if the client wants its answers signed, and this one could not be.
    pub async fn location(&self, error: &RedirectedError) -> Result<Location, ShownError> {
        let parameters = [("error", error.error.as_str()), ("error_description", &error.description)];
        // It has a character at least, if there is one (RFC 6749 appendix A.8).
        let said: &[_] = if error.description.is_empty() { &parameters[..1] } else { &parameters };
        self.answer(&error.target, said).await
    }

    /// An answer with these parameters, `state`, and who answers. In a signed one that stands inside, and nowhere else
    /// (RFC 9207 §2.4).
    pub(super) async fn answer(
        &self,
        target: &ResponseTarget,
        parameters: &[(&str, &str)],
    ) -> Result<Location, ShownError> {
        if !target.mode.is_signed() {
            return Ok(target.respond(parameters, self.config.issuer.as_str()));
        }
        let client = self.clients.named(&target.client).await?;
        let parameters = target.with_state(parameters);
        let token = self.issuer.authorization_response(&client, parameters, self.clock.now()).await;
        Ok(target.carry([("response", token.map_err(ShownError::Unsigned)?.as_str())]))
    }
}
