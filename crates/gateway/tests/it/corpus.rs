//! What the fuzzer has found worth keeping, replayed: the targets of `fuzz/` that are about this crate, on the inputs of
//! `fuzz/corpus`.

use std::path::Path;

#[path = "../../../../fuzz/src/gateway_connection.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
mod gateway_connection;

#[path = "../../../../fuzz/src/gateway_request.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
mod gateway_request;

#[path = "../../../../fuzz/src/strict_reader.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
pub(crate) mod strict_reader;

#[test]
fn the_requests_of_the_corpus_are_read_in_one_way() {
    for input in inputs("gateway_request") {
        gateway_request::run(&input);
    }
}

#[test]
fn the_connections_of_the_corpus_bring_no_upstream_what_was_not_judged() {
    let whole: usize = inputs("gateway_connection").iter().map(|input| gateway_connection::run(input)).sum();
    assert!(whole >= 15, "of what can be read nearly all arrives, and only {whole} did");
}

/// Who finds nothing must be able to find something.
#[test]
fn the_reader_of_what_upstreams_get_takes_nothing_that_could_be_read_otherwise() {
    for (after_host, whole) in [
        ("\r\n", Ok(1)),
        ("content-length: 5\r\n\r\nhello", Ok(1)),
        ("content-length: 5\r\n\r\nhell", Ok(0)),
        ("\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n", Ok(2)),
        ("transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx: y\r\n\r\n", Ok(1)),
        ("transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", Ok(0)),
        ("transfer-encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n", Err(())),
        ("transfer-encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n", Err(())),
        ("transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n", Err(())),
        ("content-length: 5\r\ncontent-length: 5\r\n\r\nhello", Err(())),
        ("content-length: +5\r\n\r\nhello", Err(())),
        ("content-length : 5\r\n\r\nhello", Err(())),
        ("host: b\r\n\r\n", Err(())),
        ("x: y\n\r\n\r\n", Err(())),
        ("\r\nhello\r\n\r\n", Err(())),
    ] {
        let bytes = format!("POST / HTTP/1.1\r\nhost: a\r\n{after_host}");
        let read = strict_reader::read(bytes.as_bytes());
        assert_eq!(read.map(|wire| wire.whole.len()).map_err(drop), whole, "{bytes:?}");
    }
}

fn inputs(target: &str) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path());
    let inputs: Vec<_> = files.map(|file| std::fs::read(file).unwrap()).collect();
    assert!(inputs.len() >= 10, "the corpus is gone");
    inputs
}

proptest::proptest! {
    #[test]
    fn no_request_panics(input: Vec<u8>) {
        gateway_request::run(&input);
    }

    #[test]
    fn no_spelling_of_a_guarded_path_is_open(path in "/(admin|[aA%]|%61|%2[ef3]|%3[bf]|\\.|/|//x/|;|\\\\|%5c|%25|dmin|x){0,12}", headers in "((connection|host|content-length|transfer-encoding|te|upgrade):(a|5|chunked|close|host|x-a|trailers|h2c)\n){0,4}x:y") {
        gateway_request::run(format!("GET {path} 1\nhost:a\n{headers}").as_bytes());
    }

    #[test]
    fn no_connection_brings_an_upstream_what_was_not_judged(input in "((GET|POST|PUT|HEAD|get|OPTIONS|CONNECT) (/|/a|\\*|http://b/|/ x) HTTP/1[.][01]\r\n(host: ?a\r?\n){0,2}((content-length|transfer-encoding|Transfer-Encoding |connection|expect|te|upgrade|x):( |\t|\r\n |)(5|0|05|\\+5|5, 5|chunked|gzip, chunked|close|100-continue|keep-alive|host)\r?\n){0,3}\r?\n((5|0|00|5 |5;a=b|a|x)\r?\n(hello|)\r?\n){0,3}){0,3}") {
        gateway_connection::run(input.as_bytes());
    }
}
