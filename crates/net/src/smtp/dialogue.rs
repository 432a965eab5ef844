//! What is said of a mail: whom it is from, whom it goes to, its text. Each is said once the one before it was taken (RFC 5321 §3.3).
//!
//! The library has all of it in one call, but does not tell then which of these was refused, and the sender is nothing of the mail's.

use lettre::Address;
use lettre::address::Envelope;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter, ServerInfo};

use super::SmtpError;

/// Hands over one mail. What was refused half-way ends the connection; what this server could not take is not begun.
pub(super) async fn hand_over(
    connection: &mut AsyncSmtpConnection,
    envelope: &Envelope,
    mail: &[u8],
) -> Result<(), SmtpError> {
    let from = Mail::new(envelope.from().cloned(), parameters(connection.server_info(), envelope, mail)?);
    let said = say(connection, from, envelope.to(), mail).await;
    if said.is_err() {
        connection.abort().await;
    }
    said
}

async fn say(
    connection: &mut AsyncSmtpConnection,
    from: Mail,
    to: &[Address],
    mail: &[u8],
) -> Result<(), SmtpError> {
    connection.command(from).await.map_err(SmtpError::introducing)?;
    for recipient in to {
        let to = Rcpt::new(recipient.clone(), Vec::new());
        connection.command(to).await.map_err(SmtpError::sending)?;
    }
    connection.command(Data).await.map_err(SmtpError::sending)?;
    connection.message(mail).await.map(drop).map_err(SmtpError::sending)
}

/// What the server must be told, and know of, before a mail that is not ASCII: in its addresses (RFC 6531 §3.4), or in its text (RFC 6152
/// §3).
fn parameters(
    server: &ServerInfo,
    envelope: &Envelope,
    mail: &[u8],
) -> Result<Vec<MailParameter>, SmtpError> {
    let mut parameters = Vec::new();
    let mut need = |extension, parameter| {
        if !server.supports_feature(extension) {
            return Err(SmtpError::NeedsSmtpUtf8);
        }
        parameters.push(parameter);
        Ok(())
    };
    let mut addresses = envelope.from().into_iter().chain(envelope.to());
    if !addresses.all(|address| AsRef::<str>::as_ref(address).is_ascii()) {
        need(Extension::SmtpUtfEight, MailParameter::SmtpUtfEight)?;
    }
    if !mail.is_ascii() {
        need(Extension::EightBitMime, MailParameter::Body(MailBodyParameter::EightBitMime))?;
    }
    Ok(parameters)
}
