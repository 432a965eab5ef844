//! What FAPI 2.0 asks of an authorization request beyond what is asked of all (Security Profile §5.3.2.2, Message Signing
//! §5.3, §5.4). That it is pushed and signed is checked with how it came.

use sluice_protocol::{CodeChallenge, ErrorCode, ResponseMode, ResponseType};

use super::{Checked, Refusal};
use crate::client::SecurityProfile;

pub(super) fn check(
    checked: &Checked<'_>,
    (response_type, mode): (ResponseType, ResponseMode),
    code_challenge: Option<&CodeChallenge>,
) -> Result<(), Refusal> {
    let profile = checked.client.security.profile;
    if !profile.is_fapi() {
        return Ok(());
    }
    if response_type != ResponseType::CODE {
        return Err((ErrorCode::UnsupportedResponseType, "FAPI 2.0 knows `code` alone."));
    }
    if code_challenge.is_none() {
        return Err((ErrorCode::InvalidRequest, "The client must use PKCE: `code_challenge` is missing."));
    }
    match checked.raw.get("redirect_uri") {
        None => {
            return Err((ErrorCode::InvalidRequest, "FAPI 2.0 requires the parameter `redirect_uri`."));
        }
        Some(uri) if !uri.starts_with("https://") => {
            return Err((ErrorCode::InvalidRequest, "FAPI 2.0 requires an https:// `redirect_uri`."));
        }
        Some(_) => {}
    }
    if profile == SecurityProfile::Fapi2MessageSigning && !mode.is_signed() {
        return Err((ErrorCode::InvalidRequest, "The client must ask for signed answers (`response_mode`)."));
    }
    Ok(())
}
