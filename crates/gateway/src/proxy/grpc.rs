//! What the gateway itself answers to a call of gRPC, whose clients understand nothing but gRPC (gRPC over HTTP/2, "Responses"): they take any other
//! answer for a fault of the network, and show its status and content type to their user.

use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Version};

use super::body::ProxyBody;
use super::fault::Fault;
use crate::enrichment::value::header_value;

const CONTENT: &str = "application/grpc";
static STATUS: HeaderName = HeaderName::from_static("grpc-status");
static MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// Whether a request is a call of gRPC: over HTTP/2, of `application/grpc` or `application/grpc+proto` and the like. Clients of gRPC-Web
/// (`application/grpc-web`) are none: they read the status of HTTP, over every version of it.
pub(super) fn is_call(headers: &HeaderMap, version: Version) -> bool {
    if version < Version::HTTP_2 {
        return false;
    }
    let named = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let Some((kind, rest)) = named.split_at_checked(CONTENT.len()) else { return false };
    kind.eq_ignore_ascii_case(CONTENT.as_bytes()) && matches!(rest, [] | [b'+' | b';' | b' ', ..])
}

/// Says a refusal or a fault as gRPC does: 200, and what it is about in its headers, which are all of it ("Trailers-Only"). The others stay
/// there, so that a client may read a challenge, or when to come again. An answer that is neither stays as it is.
pub(super) fn say(response: &mut Response<ProxyBody>, fault: Option<Fault>, message: &str) {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return;
    }
    *response.status_mut() = StatusCode::OK;
    *response.body_mut() = ProxyBody::default();
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(CONTENT));
    headers.insert(&STATUS, HeaderValue::from_static(code(status, fault)));
    headers.extend(header_value(message).map(|message| (MESSAGE.clone(), message)));
}

/// The code of a status ("HTTP to gRPC Status Code Mapping"), but where more is known here than that a proxy has said so: what was too much,
/// and what ran out of time.
fn code(status: StatusCode, fault: Option<Fault>) -> &'static str {
    const UNKNOWN: &str = "2";
    const DEADLINE_EXCEEDED: &str = "4";
    const PERMISSION_DENIED: &str = "7";
    const RESOURCE_EXHAUSTED: &str = "8";
    const UNIMPLEMENTED: &str = "12";
    const INTERNAL: &str = "13";
    const UNAVAILABLE: &str = "14";
    const UNAUTHENTICATED: &str = "16";
    match status {
        StatusCode::BAD_REQUEST => INTERNAL,
        StatusCode::UNAUTHORIZED => UNAUTHENTICATED,
        StatusCode::FORBIDDEN => PERMISSION_DENIED,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => UNIMPLEMENTED,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => RESOURCE_EXHAUSTED,
        // The call was not sent, and may be made again.
        StatusCode::GATEWAY_TIMEOUT if fault == Some(Fault::ConnectTimeout) => UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => DEADLINE_EXCEEDED,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE => UNAVAILABLE,
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
    use http_body::Body;

    use super::*;
    use crate::proxy::problem;

    #[test]
    fn a_call_of_grpc_is_known_by_its_content_type_over_http_2() {
        for (named, expected) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("Application/gRPC+json", true),
            ("application/grpc; charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/grpc-web+proto", false),
            ("application/grpcs", false),
            ("application/grp", false),
            ("application/json", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(named))]);
            assert_eq!(is_call(&headers, Version::HTTP_2), expected, "{named}");
            assert!(!is_call(&headers, Version::HTTP_11), "{named}");
        }
        assert!(!is_call(&HeaderMap::new(), Version::HTTP_2));
    }

    #[test]
    fn a_fault_is_said_by_the_code_of_what_it_means() {
        for (fault, code) in [
            (Fault::Connect, "14"),
            (Fault::ConnectTimeout, "14"),
            (Fault::Overloaded, "14"),
            (Fault::Reset, "14"),
            (Fault::Unprocessed, "14"),
            (Fault::BadAnswer, "14"),
            (Fault::Timeout, "4"),
            (Fault::OutOfTime, "4"),
            (Fault::SlowClient, "4"),
            (Fault::NotForwarded, "12"),
            (Fault::TooLarge, "8"),
            (Fault::HeadTooLarge, "8"),
            (Fault::ClientBody, "13"),
            (Fault::Loop, "2"),
        ] {
            let mut response = problem::fault(fault);
            let had_retry_after = response.headers().contains_key(RETRY_AFTER);
            say(&mut response, Some(fault), &fault.to_string());
            let headers = response.headers();
            assert_eq!(response.status(), StatusCode::OK, "{fault}");
            assert_eq!(headers[CONTENT_TYPE], CONTENT, "{fault}");
            assert_eq!(headers[&STATUS], code, "{fault}");
            assert_eq!(headers[&MESSAGE], fault.to_string(), "no sentence needs an escape");
            assert_eq!(headers.contains_key(RETRY_AFTER), had_retry_after, "{fault}");
            assert!(response.body().is_end_stream(), "{fault}");
        }
    }

    #[test]
    fn a_refusal_keeps_its_challenge_and_a_message_what_it_says() {
        for (status, code) in [(401, "16"), (403, "7"), (404, "12"), (405, "12"), (429, "8"), (400, "13")] {
            let mut response = Response::new(ProxyBody::default());
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            say(&mut response, None, "100 % žofie");
            assert_eq!(response.headers()[&STATUS], code, "{status}");
            assert_eq!(response.headers()[&MESSAGE], "100 %25 %C5%BEofie");
            assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
        }
    }

    #[test]
    fn an_answer_that_refuses_nothing_stays_as_it_is() {
        let mut response = Response::new(ProxyBody::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        say(&mut response, None, "");
        assert_eq!((response.status(), response.headers().len()), (StatusCode::NO_CONTENT, 0));
    }
}
