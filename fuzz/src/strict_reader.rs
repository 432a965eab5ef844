//! Requests as a strict server reads them from the bytes of a connection (RFC 9112): each says in one way where it ends, and nothing has
//! another spelling than the plainest.

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub target: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    /// What chunks frame, without them.
    pub body: Vec<u8>,
}

impl Request {
    /// The values of a header, line by line.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.headers.iter().filter(|(found, _)| found == name);
        lines.map(|(_, value)| value.as_str()).collect()
    }
}

/// What is on the wire of a connection.
#[derive(Debug, Default)]
pub struct Wire {
    pub whole: Vec<Request>,
    /// One whose body has not ended, without that. What is there of a head that has not ended is not looked at.
    pub begun: Option<Request>,
}

/// Reads all of them.
///
/// # Errors
/// Why some server could read something else.
pub fn read(bytes: &[u8]) -> Result<Wire, &'static str> {
    let mut wire = Wire::default();
    let mut rest = bytes;
    while let Some((head, after)) = split(rest, b"\r\n\r\n") {
        let mut request = read_head(head)?;
        let Some((body, after)) = read_body(&request, after)? else {
            wire.begun = Some(request);
            break;
        };
        request.body = body;
        wire.whole.push(request);
        rest = after;
    }
    Ok(wire)
}

fn read_head(head: &[u8]) -> Result<Request, &'static str> {
    let (first, lines) = split(head, b"\r\n").unwrap_or((head, b""));
    let mut words = first.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(b"HTTP/1.1"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("the first line is not three words");
    };
    if !is_token(method) || target.is_empty() || target.iter().any(|byte| *byte <= b' ') {
        return Err("the first line is of no request");
    }
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let headers = read_lines(lines)?;
    Ok(Request { method: text(method), target: text(target), headers, body: Vec::new() })
}

fn read_lines(mut rest: &[u8]) -> Result<Vec<(String, String)>, &'static str> {
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let (line, after) = split(rest, b"\r\n").unwrap_or((rest, b""));
        let (name, value) = split(line, b":").ok_or("a line without a colon")?;
        if !is_token(name) {
            return Err("a name that is none");
        }
        let is_control = |byte: &u8| *byte < b' ' && *byte != b'\t' || *byte == 0x7f;
        if value.iter().any(is_control) {
            return Err("a control character in a value");
        }
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        lines.push((name, String::from_utf8_lossy(value.trim_ascii()).into_owned()));
        rest = after;
    }
    Ok(lines)
}

/// The body and what comes after it; `None` if it has not ended.
type Body<'a> = Option<(Vec<u8>, &'a [u8])>;

fn read_body<'a>(request: &Request, after: &'a [u8]) -> Result<Body<'a>, &'static str> {
    if request.all("host").len() != 1 {
        return Err("not one host");
    }
    match (&request.all("content-length")[..], &request.all("transfer-encoding")[..]) {
        ([], []) => Ok(Some((Vec::new(), after))),
        ([length], []) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            let length: usize = length.parse().map_err(|_| "a length beyond all bounds")?;
            Ok(after.split_at_checked(length).map(|(body, after)| (body.to_vec(), after)))
        }
        ([], ["chunked"]) => read_chunks(after),
        _ => Err("more than one length, or one that is none"),
    }
}

fn read_chunks(mut rest: &[u8]) -> Result<Body<'_>, &'static str> {
    let mut body = Vec::new();
    while let Some((digits, after)) = split(rest, b"\r\n") {
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err("a chunk without a plain size");
        }
        let digits = str::from_utf8(digits).map_err(|_| "a chunk without a plain size")?;
        let size = usize::from_str_radix(digits, 16).map_err(|_| "a chunk beyond all bounds")?;
        if size == 0 {
            return read_end(body, after);
        }
        let Some((data, after)) = after.split_at_checked(size) else { return Ok(None) };
        if after.len() < 2 {
            return Ok(None);
        }
        body.extend(data);
        rest = after.strip_prefix(b"\r\n").ok_or("a chunk that does not end where it says")?;
    }
    Ok(None)
}

/// What follows the last chunk: trailers, and an empty line.
fn read_end(body: Vec<u8>, after: &[u8]) -> Result<Body<'_>, &'static str> {
    if let Some(after) = after.strip_prefix(b"\r\n") {
        return Ok(Some((body, after)));
    }
    let Some((trailers, after)) = split(after, b"\r\n\r\n") else { return Ok(None) };
    let framing = ["host", "content-length", "transfer-encoding"];
    if read_lines(trailers)?.iter().any(|(name, _)| framing.contains(&name.as_str())) {
        return Err("a trailer that only a head may have");
    }
    Ok(Some((body, after)))
}

/// What comes before `end` and what comes after it.
fn split<'a>(bytes: &'a [u8], end: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = bytes.windows(end.len()).position(|window| window == end)?;
    Some((bytes.get(..at)?, bytes.get(at + end.len()..)?))
}

/// Whether it is a method, or the name of a header (RFC 9110 §5.6.2).
fn is_token(word: &[u8]) -> bool {
    let is_of_one = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !word.is_empty() && word.iter().all(is_of_one)
}
