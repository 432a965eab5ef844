//! What FAPI 2.0 asks of an authorization request beyond what is asked of all (Security Profile §5.3.2.2, Message Signing
//! §5.3, §5.4). That it is pushed and signed is checked with how it came.

use sluice_protocol::{CodeChallenge, ErrorCode, ResponseMode, ResponseType};

use super::{Checked, Refusal};
use crate::client::SecurityProfile;
use crate::flow::Request;

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

/// Whether a request that was checked before is one that a client of this profile could make.
pub(super) fn still_holds(request: &Request, profile: SecurityProfile) -> bool {
    let names_https = request.redirect_uri_named && request.redirect_uri.as_str().starts_with("https://");
    let is_signed = request.response_mode.is_signed() || profile != SecurityProfile::Fapi2MessageSigning;
    !profile.is_fapi()
        || (request.response_type == ResponseType::CODE
            && request.code_challenge.is_some()
            && names_https
            && is_signed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::fake::request;

    #[test]
    fn a_request_of_before_does_not_pass_by_the_rules_of_a_profile() {
        let (plain, fapi) = (SecurityProfile::None, SecurityProfile::Fapi2);
        let messages = SecurityProfile::Fapi2MessageSigning;
        assert!(still_holds(&request(), fapi) && !still_holds(&request(), messages));
        let signed = Request { response_mode: ResponseMode::QueryJwt, ..request() };
        assert!(still_holds(&signed, messages));
        let hybrid = ResponseType { id_token: true, ..ResponseType::CODE };
        for other in [
            Request { response_type: hybrid, ..signed.clone() },
            Request { code_challenge: None, ..signed.clone() },
            Request { redirect_uri_named: false, ..signed.clone() },
            Request { redirect_uri: "http://localhost/cb".parse().unwrap(), ..signed.clone() },
        ] {
            assert!(still_holds(&other, plain));
            assert!(!still_holds(&other, fapi) && !still_holds(&other, messages), "{other:?}");
        }
    }
}
