//! What the fuzzer has found worth keeping, replayed: the targets of `fuzz/` on the inputs of `fuzz/corpus`.

use std::path::Path;

#[path = "../../../../fuzz/src/authorization_request.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
mod authorization_request;
#[path = "../../../../fuzz/src/sealed_value.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
mod sealed_value;
#[path = "../../../../fuzz/src/token_form.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
mod token_form;

fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let inputs: Vec<_> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(inputs.len() >= 8, "the corpus of {target} is gone");
    for input in inputs {
        run(&std::fs::read(input).unwrap());
    }
}

#[test]
fn the_authorization_requests_of_the_corpus_are_read() {
    replay("authorization_request", authorization_request::run);
}

#[test]
fn the_token_forms_of_the_corpus_are_read() {
    replay("token_form", token_form::run);
}

#[test]
fn the_sealed_values_of_the_corpus_are_opened() {
    replay("sealed_value", sealed_value::run);
}

proptest::proptest! {
    #[test]
    fn no_authorization_request_panics(input: Vec<u8>, values: [String; 4]) {
        authorization_request::run(&input);
        let names = ["client_id", "redirect_uri", "scope", "prompt"];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(names.iter().zip(&values));
        authorization_request::run(query.finish().as_bytes());
    }

    #[test]
    fn no_redirect_uri_panics_or_changes(uri in "[a-z]{0,6}:?/{0,3}[a-zA-Z0-9.@:\\[\\]\\\\%-]{0,20}/?[ -~]{0,20}") {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("redirect_uri", &uri).finish();
        authorization_request::run(query.as_bytes());
    }

    #[test]
    fn no_token_form_panics(header: String, form: Vec<u8>) {
        token_form::run(&[header.as_bytes(), b"\n", &form].concat());
    }

    #[test]
    fn no_sealed_value_panics(content: Vec<u8>, text: String) {
        sealed_value::run(&content);
        sealed_value::run(text.as_bytes());
    }
}
