use tokio::io::AsyncWriteExt;
use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;

use super::*;

/// What the driver makes of these bytes of a server, where TLS is wanted or not.
async fn said_to_who_connects(mode: SslMode, message: &[u8]) -> tokio_postgres::Error {
    let (ours, mut theirs) = tokio::io::duplex(1024);
    theirs.write_all(message).await.unwrap();
    theirs.shutdown().await.unwrap();
    let mut config = tokio_postgres::Config::new();
    config.user("sluice").ssl_mode(mode).connect_raw(ours, NoTls).await.err().unwrap()
}

async fn said_by_a_server(message: &[u8]) -> Failure {
    said_to_who_connects(SslMode::Disable, message).await.into()
}

/// An error as servers write it.
fn error(code: &str, fields: &str) -> Vec<u8> {
    let fields = format!("SERROR\0VERROR\0C{code}\0{fields}\0\0");
    let length = u32::try_from(4 + fields.len()).unwrap();
    [&b"E"[..], &length.to_be_bytes()[..], fields.as_bytes()].concat()
}

#[tokio::test]
async fn what_a_server_says_is_told_once_and_without_values_of_rows() {
    let sentence = "null value in column \"status\" violates not-null constraint";
    let hint = "one line\nand another";
    let fields = format!("M{sentence}\0DFailing row contains (ada@example.com).\0H{hint}");
    let failure = said_by_a_server(&error("23502", &fields)).await;
    assert_eq!(chain(&failure), format!("PostgreSQL: {sentence} (23502)"));
    let told = chain(&failure.into_store_error());
    assert_eq!(told, format!("the store refused: PostgreSQL: {sentence} (23502)"));
}

/// Half of it was heard by one server process, half by another.
#[tokio::test]
async fn where_statements_are_mixed_up_a_pooler_is_suspected() {
    for (code, message, is_suspected) in [
        ("26000", "something is wrong", true),
        ("42P05", "something is wrong", true),
        ("22P03", "something is wrong", true),
        ("22P02", "something is wrong", false),
        ("42804", "binary data has array element type 25 (text) instead of expected 2950 (uuid)", true),
        ("54000", "number of array dimensions (418) exceeds the maximum allowed (6)", true),
        ("54000", "index row requires 8232 bytes, maximum size is 8191", false),
        ("08P01", "bind message supplies 2 parameters, but prepared statement \"s7\" requires 1", true),
        ("08P01", "invalid message format", false),
    ] {
        let told = chain(&said_by_a_server(&error(code, &format!("M{message}"))).await);
        assert_eq!(told.contains("pooler"), is_suspected, "{told}");
    }
}

#[tokio::test]
async fn a_pooler_of_statements_is_told_from_one_with_another_fault() {
    for (code, message, is_told) in [
        ("08P01", "transaction blocks not allowed in statement pooling mode", true),
        ("08P01", "server conn crashed?", false),
        ("42601", "statement pooling", false),
    ] {
        let said = said_to_who_connects(SslMode::Disable, &error(code, &format!("M{message}"))).await;
        assert_eq!(is_pooling_of_statements(&said), is_told, "{message} ({code})");
    }
}

/// It is refused whoever is verified: see `tls`.
#[test]
fn what_ails_a_certificate_of_version_1_is_told_with_what_mends_it() {
    let told = explained("invalid peer certificate: Other(OtherError(UnsupportedCertVersion))".to_owned());
    assert!(told.contains("X.509 version 1") && told.contains("-extfile"), "{told}");
    assert!(told.contains("sslmode=disable"), "{told}");
}

/// As a server asks for one in clear.
#[tokio::test]
async fn who_has_no_password_is_told_where_it_is_to_be_set() {
    let asks = b"R\0\0\0\x08\0\0\0\x03";
    let failure = Failure::connecting(said_to_who_connects(SslMode::Disable, asks).await);
    let told = chain(&failure);
    assert!(told.starts_with("PostgreSQL: the server wants a password: set it in the DSN"), "{told}");
    assert!(failure.is_turned_away() && !failure.is_wrong_password());
}

#[tokio::test]
async fn who_is_not_let_in_is_told_from_who_finds_no_place() {
    for (code, is_wrong) in [("28P01", true), ("28000", true), ("53300", false), ("57P03", false)] {
        let failure = Failure::connecting(said_to_who_connects(SslMode::Disable, &error(code, "Mno")).await);
        assert_eq!(failure.is_wrong_password(), is_wrong, "{failure}");
    }
}

#[test]
fn a_pooler_of_transactions_is_refused_at_the_start_and_waited_for_once_a_node_runs() {
    for failure in [Failure::Pooled, Failure::OtherSearchPath("public".to_owned())] {
        assert!(
            failure.is_turned_away() && failure.ends_session() && !failure.may_be_committed(),
            "{failure}"
        );
        assert!(matches!(failure.into_store_error(), StoreError::Unavailable(Some(_))));
    }
}

/// As with `ssl = off` after a reload, or where the server has no process left to say anything with.
#[tokio::test]
async fn a_server_that_does_not_open_a_connection_is_one_to_wait_for_once_a_node_runs() {
    let refusals: [(SslMode, Vec<u8>, bool); 5] = [
        (SslMode::Require, b"N".to_vec(), true),
        (SslMode::Require, b"Ecould not fork new process for connection\n\0".to_vec(), true),
        (SslMode::Disable, error("28P01", "Mpassword authentication failed"), true),
        (SslMode::Disable, error("42501", "Mpermission denied for database"), true),
        (SslMode::Disable, error("57P03", "Mthe database system is starting up"), false),
    ];
    for (mode, message, is_mistake_at_the_start) in refusals {
        let failure = Failure::connecting(said_to_who_connects(mode, &message).await);
        assert_eq!(failure.nature(), Nature::Lost, "{failure}");
        assert_eq!(failure.is_turned_away(), is_mistake_at_the_start, "{failure}");
        assert!(!failure.may_be_committed(), "{failure}");
    }
}

#[tokio::test]
async fn a_full_server_is_told_from_one_that_is_away() {
    let full = said_to_who_connects(SslMode::Disable, &error("53300", "Mtoo many connections")).await;
    let full = Failure::connecting(full);
    assert!(full.is_for_want_of_connections() && !full.is_turned_away());
    let gone = Failure::connecting(said_to_who_connects(SslMode::Disable, b"").await);
    assert!(!gone.is_for_want_of_connections() && !gone.is_turned_away(), "{gone}");
}

#[tokio::test]
async fn what_the_driver_says_is_told_with_its_cause() {
    // No message is shorter than its own length.
    let told = chain(&said_by_a_server(b"E\0\0\0\0").await);
    let cause = told.strip_prefix("PostgreSQL: error communicating with the server: ");
    assert!(cause.is_some_and(|cause| cause.starts_with("invalid message length")), "{told}");
}

#[test]
fn contention_is_tried_again_and_a_bad_value_is_not() {
    assert_eq!(nature_of(&SqlState::T_R_SERIALIZATION_FAILURE), Nature::Busy);
    assert_eq!(nature_of(&SqlState::T_R_DEADLOCK_DETECTED), Nature::Busy);
    assert_eq!(nature_of(&SqlState::CHARACTER_NOT_IN_REPERTOIRE), Nature::Poisoned);
    assert_eq!(nature_of(&SqlState::UNIQUE_VIOLATION), Nature::Poisoned);
}

#[test]
fn a_connection_is_given_up_if_it_is_silent_and_not_if_one_answer_is_late() {
    let (silent, late) = (Failure::Silent(Duration::ZERO), Failure::Late(Duration::ZERO));
    assert_eq!((silent.nature(), late.nature()), (Nature::Lost, Nature::Lost), "who knows what became of it");
    assert!(silent.ends_session() && !late.ends_session());
}

#[test]
fn a_transaction_that_the_server_refused_is_not_committed() {
    assert!(Failure::Silent(Duration::ZERO).may_be_committed());
    assert!(Failure::Late(Duration::ZERO).may_be_committed());
    assert!(!Failure::Standby.may_be_committed());
    assert!(!Failure::Unopened(Duration::ZERO).may_be_committed());
    for (code, is_open) in
        [("08006", true), ("57P01", true), ("57P02", true), ("25006", false), ("0A000", false)]
    {
        assert_eq!(leaves_open(&SqlState::from_code(code)), is_open, "{code}");
    }
}

#[test]
fn a_connection_that_is_not_ours_alone_or_was_idle_too_long_is_made_anew() {
    assert_eq!(nature_of(&SqlState::DUPLICATE_PSTATEMENT), Nature::Lost);
    for too_long in ["57P05", "25P03", "25P04"] {
        assert_eq!(nature_of(&SqlState::from_code(too_long)), Nature::Lost, "{too_long}");
    }
}

#[test]
fn a_server_that_goes_away_is_lost_and_a_full_disk_is_not() {
    assert_eq!(nature_of(&SqlState::ADMIN_SHUTDOWN), Nature::Lost);
    assert_eq!(nature_of(&SqlState::CONNECTION_FAILURE), Nature::Lost);
    assert_eq!(nature_of(&SqlState::READ_ONLY_SQL_TRANSACTION), Nature::Lost);
    for turned_away in ["28P01", "28000", "3D000", "53300"] {
        assert_eq!(nature_of(&SqlState::from_code(turned_away)), Nature::Lost, "{turned_away}");
    }
    assert_eq!(nature_of(&SqlState::DISK_FULL), Nature::Refused);
    assert_eq!(nature_of(&SqlState::UNDEFINED_TABLE), Nature::Refused);
}

#[tokio::test]
async fn of_several_servers_one_that_is_there_tells_more_than_one_that_is_away_or_a_standby() {
    let mut weights = vec![Failure::Closed.weight(), Failure::Standby.weight()];
    assert_eq!(Failure::Unopened(Duration::ZERO).weight(), Weight::Away);
    for code in ["57P03", "28000", "53300"] {
        let said = said_to_who_connects(SslMode::Disable, &error(code, "Mno")).await;
        weights.push(Failure::connecting(said).of_server(Some(&Arc::from("db1:5432"))).weight());
    }
    assert!(weights.is_sorted_by(|less, more| less < more), "{weights:?}");
}
