//! A device polls (RFC 8628 §3.4): is told to wait, to slow down, that the user refused, or is given tokens.

use sluice_primitives::Lifetime;
use sluice_protocol::token_response::TokenResponse;
use sluice_protocol::{ErrorCode, GrantType};

use super::hooked::AboutToRedeem;
use super::less::Less;
use super::redemption::is_spent;
use super::{Call, TokenError, TokenService};
use crate::device::polls::Pace;
use crate::device::{DevicePoll, PollingCode};
use crate::issuing::Issue;

/// A poll may come so much too early: clocks and networks are not exact.
const LEEWAY: Lifetime = Lifetime::secs(1);
/// What is left of an interval at least, however short it is said to be: else each poll reached the store.
const SHORTEST: Lifetime = Lifetime::millis(500);

impl TokenService {
    pub(super) async fn poll_device(
        &self,
        call: &Call<'_>,
        device_code: &str,
        less: Less,
    ) -> Result<TokenResponse, TokenError> {
        let code = PollingCode::open(device_code, &self.sealer)?;
        if code.client != call.client.id {
            return Err(TokenError::OtherClient);
        }
        let answered = self.answer_poll(call, &code, less).await;
        if answered.as_ref().is_err_and(|why| why.code() == ErrorCode::TemporarilyUnavailable) {
            // Nothing was said to the device: it comes again, and that is not too early.
            self.polls.forget(code.device);
        }
        answered
    }

    async fn answer_poll(
        &self,
        call: &Call<'_>,
        code: &PollingCode,
        less: Less,
    ) -> Result<TokenResponse, TokenError> {
        let Call { client, confirmation, now, .. } = *call;
        self.ask_for_decision(call, code).await?;
        let recipient = self.recipient(client, (code.device, true), |grant| Ok(is_spent(grant))).await?;
        self.spend_proof(call).await?;
        self.check_granted(client, code.device, &less).await?;
        let about = AboutToRedeem {
            grant: code.device,
            grant_type: GrantType::DeviceCode,
            nonce: None,
            requested_at: code.requested_at,
            less: &less,
        };
        let claims = self.ask_before_redemption(call, about).await?;
        let mut grant = self.redeem(call, code.device, GrantType::DeviceCode, claims).await?;
        self.keep_asked(client, less, &mut grant)?;
        Ok(self.issuer.issue(&Issue {
            grant: &grant,
            client,
            grant_type: GrantType::DeviceCode,
            scope: &grant.scope,
            audience: grant.audience.as_slice(),
            issued_at: grant.rotated_at.unwrap_or(now).floor_to_secs(),
            now,
            access_token_id: None,
            nonce: None,
            requested_at: Some(code.requested_at),
            confirmation,
            recipient: recipient.as_ref(),
        })?)
    }

    /// Whether the user agreed. Who asks too early is told so, and reaches the store once in an interval: it may have something else to say.
    async fn ask_for_decision(&self, call: &Call<'_>, code: &PollingCode) -> Result<(), TokenError> {
        let Call { client, now, address, .. } = *call;
        if now >= code.expires_at {
            return Err(TokenError::DeviceExpired);
        }
        let interval = (now + self.config.policies.device.interval).since(now + LEEWAY).max(SHORTEST);
        let pace = self.polls.pace(code.device, now, interval);
        if pace == Pace::TooEarly {
            return Err(TokenError::DeviceTooFast);
        }
        if !self.polls.may_ask(client, address, now) {
            return Err(TokenError::DevicesTooFast);
        }
        match self.devices.poll(code.device, now, interval).await? {
            DevicePoll::Granted => Ok(()),
            DevicePoll::Pending if pace == Pace::InTime => Err(TokenError::DevicePending),
            DevicePoll::Pending | DevicePoll::TooFast => Err(TokenError::DeviceTooFast),
            DevicePoll::Denied => Err(TokenError::DeviceDenied),
            DevicePoll::Expired => Err(TokenError::DeviceExpired),
            DevicePoll::Unknown => Err(TokenError::UnknownGrant(code.device)),
        }
    }
}
