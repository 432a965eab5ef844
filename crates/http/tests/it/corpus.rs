//! What the fuzzer has found worth keeping, replayed: the target of `fuzz/` that is about this crate, on the inputs of
//! `fuzz/corpus`.

use std::path::Path;

use sluice_http::read_identity_bodies;

#[path = "../../../../fuzz/src/identity_body.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
mod identity_body;

#[test]
fn the_identity_bodies_of_the_corpus_are_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/identity_body");
    let inputs: Vec<_> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(inputs.len() >= 8, "the corpus is gone");
    for input in inputs {
        identity_body::run(&std::fs::read(input).unwrap());
    }
}

#[test]
fn what_says_nothing_is_a_body_where_none_is_needed() {
    assert!(read_identity_bodies(b"") > 0);
    assert_eq!(read_identity_bodies(b"[]"), 0);
    assert_eq!(read_identity_bodies(br#"{"email": "#), 0);
}

proptest::proptest! {
    #[test]
    fn no_identity_body_panics(input: Vec<u8>, name in "(email|password|code|token|login_ticket|passkey|totp)", value: String) {
        identity_body::run(&input);
        let body = serde_json::json!({ name: value });
        identity_body::run(body.to_string().as_bytes());
    }

    #[test]
    fn nothing_that_looks_like_json_panics(input in "\\{(\"(email|password|username|code|ticket)\":(\"[ -~]{0,6}\"|null|1|\\[\\]|\\{\\}),?){0,4}\\}?") {
        identity_body::run(input.as_bytes());
    }
}
