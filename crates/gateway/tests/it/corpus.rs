//! What the fuzzer has found worth keeping, replayed: the target of `fuzz/` that is about this crate, on the inputs of
//! `fuzz/corpus`.

use std::path::Path;

#[path = "../../../../fuzz/src/gateway_request.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
mod gateway_request;

#[path = "../../../../fuzz/src/strict_reader.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
pub(crate) mod strict_reader;

#[test]
fn the_requests_of_the_corpus_are_read_in_one_way() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/gateway_request");
    let inputs: Vec<_> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(inputs.len() >= 10, "the corpus is gone");
    for input in inputs {
        gateway_request::run(&std::fs::read(input).unwrap());
    }
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
}
