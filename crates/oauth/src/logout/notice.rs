//! Who hears of the end of a session, and how.

use sluice_commit::StoreError;
use url::Url;

use super::outbox::LogoutNotice;
use crate::client::ClientDirectory;
use crate::login_session::{EndedSession, SessionClient};

/// Notices for the back channel, and addresses for frames of the front channel.
pub async fn notices_for(
    ended: &[EndedSession],
    clients: &ClientDirectory,
    issuer: &str,
) -> Result<(Vec<LogoutNotice>, Vec<Url>), StoreError> {
    let (mut notices, mut frames) = (Vec::new(), Vec::new());
    for session in ended {
        for SessionClient { client: id, shown_subject } in &session.clients {
            let Some(client) = clients.find(id).await? else { continue };
            if let Some(backchannel) = &client.backchannel_logout {
                let seen = shown_subject.as_ref().and_then(|seen| seen.parse().ok());
                notices.push(LogoutNotice {
                    uri: backchannel.uri.clone(),
                    client: id.clone(),
                    subject: seen.unwrap_or_else(|| session.subject.clone()),
                    session: session.session,
                });
            }
            if let Some(frontchannel) = &client.frontchannel_logout {
                let mut uri = frontchannel.uri.clone();
                let sid = session.session.to_string();
                uri.query_pairs_mut().append_pair("iss", issuer).append_pair("sid", &sid);
                frames.push(uri);
            }
        }
    }
    Ok((notices, frames))
}
