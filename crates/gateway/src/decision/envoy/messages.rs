//! The part of `envoy.service.auth.v3` that is spoken here, with the field numbers of Envoy's `external_auth.proto`,
//! `attribute_context.proto`, `base.proto` and `address.proto`. Fields that are not named are skipped. Envoy itself
//! talks to these in `tests/gateway`.

use std::collections::HashMap;

use prost::{Message, Oneof};

/// `CheckRequest`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) attributes: Option<AttributeContext>,
}

/// `AttributeContext`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AttributeContext {
    #[prost(message, optional, tag = "1")]
    pub(super) source: Option<Peer>,
    #[prost(message, optional, tag = "4")]
    pub(super) request: Option<Request>,
}

/// `AttributeContext.Peer`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Peer {
    #[prost(message, optional, tag = "1")]
    pub(super) address: Option<Address>,
    /// Percent-encoded PEM, if Envoy is told to include it.
    #[prost(string, tag = "5")]
    pub(super) certificate: String,
}

/// `Address`, where it is one of a socket.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Address {
    #[prost(message, optional, tag = "1")]
    pub(super) socket_address: Option<SocketAddress>,
}

/// `SocketAddress`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SocketAddress {
    #[prost(string, tag = "2")]
    pub(super) address: String,
}

/// `AttributeContext.Request`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Request {
    #[prost(message, optional, tag = "2")]
    pub(super) http: Option<HttpRequest>,
}

/// `AttributeContext.HttpRequest`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HttpRequest {
    #[prost(string, tag = "2")]
    pub(super) method: String,
    /// Lines of one name joined by commas.
    #[prost(map = "string, string", tag = "3")]
    pub(super) headers: HashMap<String, String>,
    /// With the query.
    #[prost(string, tag = "4")]
    pub(super) path: String,
    #[prost(string, tag = "5")]
    pub(super) host: String,
    #[prost(string, tag = "6")]
    pub(super) scheme: String,
    /// How many bytes of its body had come; -1 where Envoy does not know.
    #[prost(int64, tag = "9")]
    pub(super) size: i64,
    /// The beginning of its body, with `with_request_body`.
    #[prost(bytes = "vec", tag = "11")]
    pub(super) body: Vec<u8>,
    /// The same, with `pack_as_bytes`.
    #[prost(bytes = "vec", tag = "12")]
    pub(super) raw_body: Vec<u8>,
    /// Every line as it came, instead of `headers`, with `encode_raw_headers`.
    #[prost(message, optional, tag = "13")]
    pub(super) header_map: Option<RawHeaders>,
}

/// `HeaderMap`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RawHeaders {
    #[prost(message, repeated, tag = "1")]
    pub(super) headers: Vec<Header>,
}

/// `HeaderValue`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) raw_value: Vec<u8>,
}

/// `HeaderValueOption`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HeaderOption {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    /// `append_action`.
    #[prost(enumeration = "AppendAction", tag = "3")]
    pub(super) append_action: i32,
}

/// `HeaderValueOption.HeaderAppendAction`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(super) enum AppendAction {
    /// `APPEND_IF_EXISTS_OR_ADD`.
    Append = 0,
    /// `OVERWRITE_IF_EXISTS_OR_ADD`.
    Overwrite = 2,
}

/// `CheckResponse`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<RpcStatus>,
    #[prost(oneof = "HttpResponse", tags = "2, 3")]
    pub(super) http_response: Option<HttpResponse>,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
}

/// `CheckResponse.http_response`.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum HttpResponse {
    /// `denied_response`.
    #[prost(message, tag = "2")]
    Denied(DeniedHttpResponse),
    /// `ok_response`.
    #[prost(message, tag = "3")]
    Ok(OkHttpResponse),
}

/// `DeniedHttpResponse`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DeniedHttpResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<HttpStatus>,
    #[prost(message, repeated, tag = "2")]
    pub(super) headers: Vec<HeaderOption>,
    #[prost(string, tag = "3")]
    pub(super) body: String,
}

/// `HttpStatus`: its enumeration has the numbers of HTTP.
#[derive(Clone, PartialEq, Message)]
pub(super) struct HttpStatus {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
}

/// `OkHttpResponse`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OkHttpResponse {
    #[prost(message, repeated, tag = "2")]
    pub(super) headers: Vec<HeaderOption>,
    #[prost(string, repeated, tag = "5")]
    pub(super) headers_to_remove: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub(super) response_headers_to_add: Vec<HeaderOption>,
}
