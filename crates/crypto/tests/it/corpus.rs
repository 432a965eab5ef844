//! What the fuzzer has found worth keeping, replayed: the target of `fuzz/` that is about this crate alone, on the inputs
//! of `fuzz/corpus`.

use std::path::Path;

#[path = "../../../../fuzz/src/stored_password.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz crate's own")]
mod stored_password;

#[test]
fn the_stored_passwords_of_the_corpus_are_taken_apart() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/stored_password");
    let inputs: Vec<_> = std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(inputs.len() >= 8, "the corpus is gone");
    for input in inputs {
        stored_password::run(&std::fs::read(input).unwrap());
    }
}

proptest::proptest! {
    #[test]
    fn no_stored_password_panics(text: String, fields in "[a-z0-9=,$.+/{}]{0,80}") {
        stored_password::run(text.as_bytes());
        for mark in ["p1$", "h1$00000000$argon2id$v=19$", "f1$", "$scrypt$", "$pbkdf2-sha256$", "$6$", "{SSHA}"] {
            stored_password::run(format!("{mark}{fields}").as_bytes());
        }
    }
}
