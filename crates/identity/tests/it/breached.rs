//! Passwords that everybody knows.

use std::io::Write;
use std::sync::Arc;

use async_trait::async_trait;
use sluice_crypto::digest::sha1;
use sluice_identity::config::{BreachedConfig, BreachedSource, PasswordPolicy};
use sluice_identity::registration::{BreachedEndpoint, BreachedError, BreachedFile, breached};
use sluice_identity::{BreachedPasswords, IdentityError, PasswordRules, Person, WeakPassword};
use sluice_net::{FetchPolicy, Fetcher};
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const ALICE: Person<'_> = Person { email: "alice@example.com", username: "Alice" };

fn hex(password: &str) -> String {
    data_encoding::HEXUPPER.encode(&sha1(password.as_bytes()))
}

fn file_of(lines: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(lines.as_bytes()).unwrap();
    file
}

fn fetcher() -> Arc<Fetcher> {
    Arc::new(Fetcher::new(FetchPolicy { allow_private: true, ..FetchPolicy::default() }).unwrap())
}

#[tokio::test]
async fn every_line_of_a_file_is_found_and_nothing_else() {
    for (count, ending) in [(1, "\n"), (2, "\r\n"), (1000, "\r\n"), (1001, "\n")] {
        let mut lines: Vec<_> =
            (0..count).map(|n| format!("{}:{}", hex(&format!("known{n}")), n * n)).collect();
        lines.sort();
        for line_ends in 0..4 {
            let file = file_of(&(lines.join(ending) + &ending.repeat(line_ends)));
            let list = BreachedFile::open(file.path()).unwrap();
            for n in 0..count {
                assert!(list.is_breached(&sha1(format!("known{n}").as_bytes())).await.unwrap(), "{n}");
                assert!(!list.is_breached(&sha1(format!("unknown{n}").as_bytes())).await.unwrap(), "{n}");
            }
            for beyond in [[0; 20], [0xFF; 20]] {
                assert!(!list.is_breached(&beyond).await.unwrap());
            }
        }
    }
}

#[tokio::test]
async fn digits_of_either_case_and_lines_without_a_count_are_read() {
    let mut lines = [hex("password").to_lowercase(), hex("12345678")];
    lines.sort_by_key(|line| line.to_uppercase());
    let file = file_of(&(lines.join("\n") + "\n"));
    let list = BreachedFile::open(file.path()).unwrap();
    assert!(list.is_breached(&sha1(b"password")).await.unwrap());
    assert!(list.is_breached(&sha1(b"12345678")).await.unwrap());
}

#[tokio::test]
async fn an_empty_list_knows_nothing() {
    let file = file_of("");
    assert!(!BreachedFile::open(file.path()).unwrap().is_breached(&sha1(b"password")).await.unwrap());
}

#[test]
fn what_is_no_list_is_refused_at_the_start() {
    let malformed = [
        "password\n",
        "123456:7\n",
        &"A".repeat(5000),
        "not forty hexadecimal digits at all, is it?\n",
        &format!("\n{}\n", hex("password")),
    ];
    for lines in malformed {
        let opened = BreachedFile::open(file_of(lines).path());
        assert!(matches!(opened, Err(BreachedError::Malformed)), "{lines:.20}");
    }
    let missing = BreachedSource::File("/nonexistent/list".into());
    assert!(matches!(breached::open(&missing, &fetcher()), Err(BreachedError::Read(_))));
}

/// As it is handed out too, by how often a password was found.
#[test]
fn a_list_in_another_order_is_refused_at_the_start() {
    let mut sorted: Vec<_> = (0..1000).map(|n| hex(&format!("known{n}"))).collect();
    sorted.sort();
    let opened = |lines: &[String]| BreachedFile::open(file_of(&(lines.join("\n") + "\n")).path());
    assert!(opened(&sorted).is_ok() && opened(&sorted[..2]).is_ok());
    let shuffled: Vec<_> = (0..1000).map(|n| hex(&format!("known{n}"))).collect();
    let twice = [&sorted[500..], &sorted[..500]].concat();
    let appended = [&sorted[1..], &sorted[..1]].concat();
    let swapped = [&sorted[1..2], &sorted[..1]].concat();
    for lines in [shuffled, twice, appended, swapped] {
        let opened = opened(&lines);
        assert!(matches!(opened, Err(BreachedError::Unsorted)), "{} lines: {opened:?}", lines.len());
    }
}

#[tokio::test]
async fn a_list_that_is_replaced_by_one_in_another_order_gives_no_answer() {
    let mut lines: Vec<_> = (0..1000).map(|n| hex(&format!("known{n}"))).collect();
    lines.sort();
    let file = file_of(&(lines.join("\n") + "\n"));
    let list = BreachedFile::open(file.path()).unwrap();
    lines.reverse();
    std::fs::write(file.path(), lines.join("\n") + "\n").unwrap();
    for wanted in ["known7", "unknown"] {
        let outcome = list.is_breached(&sha1(wanted.as_bytes())).await;
        assert!(matches!(outcome, Err(BreachedError::Unsorted)), "{wanted}: {outcome:?}");
    }
}

/// Answers every request with this; what was asked.
async fn endpoint(answer: String) -> (url::Url, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/range", listener.local_addr().unwrap()).parse().unwrap();
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        String::from_utf8(request).unwrap()
    });
    (url, asked)
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

async fn ask(answer: String, password: &str) -> (Result<bool, BreachedError>, String) {
    let (url, asked) = endpoint(answer).await;
    let list = BreachedEndpoint::new(url, fetcher());
    let outcome = list.is_breached(&sha1(password.as_bytes())).await;
    (outcome, asked.await.unwrap())
}

#[tokio::test]
async fn an_endpoint_is_told_five_digits_only() {
    let digits = hex("password");
    let (prefix, rest) = digits.split_at(5);
    let body = format!("{}:3\r\n{rest}:9659365\r\n", "0".repeat(35));
    let (outcome, asked) = ask(ok(&body), "password").await;
    assert!(outcome.unwrap());
    assert!(asked.starts_with(&format!("GET /range/{prefix} HTTP/1.1\r\n")), "{asked}");
    assert!(asked.to_lowercase().contains("add-padding: true") && !asked.contains(&rest[..5]), "{asked}");
}

#[tokio::test]
async fn padding_and_the_rest_of_other_passwords_are_no_breach() {
    let rest = hex("password").split_off(5);
    let (outcome, _) = ask(ok(&format!("{rest}:0\r\n{}:7\r\n", "A".repeat(35))), "password").await;
    assert!(!outcome.unwrap());
    let (outcome, _) = ask(ok(&format!("{}:7", rest.to_lowercase())), "password").await;
    assert!(outcome.unwrap());
}

#[tokio::test]
async fn an_endpoint_that_fails_gives_no_answer() {
    let refusal =
        "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned();
    assert!(matches!(ask(refusal, "password").await.0, Err(BreachedError::Status(429))));
}

struct Known(Option<&'static str>);

#[async_trait]
impl BreachedPasswords for Known {
    async fn is_breached(&self, asked: &[u8; 20]) -> Result<bool, BreachedError> {
        let known = self.0.ok_or(BreachedError::Status(500))?;
        Ok(*asked == sha1(known.as_bytes()))
    }
}

fn rules(list: Known, required: bool) -> PasswordRules {
    let source = BreachedSource::Endpoint("https://breached.example/range/".parse().unwrap());
    let breached = Some(BreachedConfig { source, required });
    PasswordRules::new(&PasswordPolicy { breached, ..PasswordPolicy::default() }, Some(Arc::new(list)))
}

#[tokio::test]
async fn a_known_password_may_not_be_chosen() {
    let rules = rules(Known(Some("password1")), false);
    let refused = rules.new_password("password1", ALICE).await.unwrap();
    assert_eq!(refused.err(), Some(WeakPassword::Breached));
    // As it is typed on another keyboard.
    let refused = rules.new_password("password①", ALICE).await.unwrap();
    assert_eq!(refused.err(), Some(WeakPassword::Breached));
    assert!(rules.new_password("correct horse", ALICE).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_list_that_does_not_answer_lets_passwords_pass_unless_it_is_required() {
    let lenient = rules(Known(None), false);
    assert!(lenient.new_password("password1", ALICE).await.unwrap().is_ok());
    assert_eq!(lenient.unanswered_total(), 1);
    let strict = rules(Known(None), true);
    let refused = strict.new_password("password1", ALICE).await;
    assert!(matches!(&refused, Err(error @ IdentityError::Breached(_)) if error.is_temporary()));
}
