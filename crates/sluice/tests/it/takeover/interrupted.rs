//! What an import left that was killed, or one of an earlier version, is no stumbling block: a later one goes on where it stood.
//!
//! On PostgreSQL alone, where marks can be made as such an import leaves them, and a trigger can stand for its end.

use reqwest::Method;
use serde_json::json;
use sluice_testkit::{Backend, PrivateCluster};

use super::followed::{decide, gone, skips_still};
use super::{HYDRA_SECRET, Site, application, counts, summary};

/// An import is killed wherever it marks for good what it has written.
const UNMARKED: &str = "BEFORE INSERT OR UPDATE ON hydra_mark FOR EACH ROW WHEN (NOT NEW.is_going)";
/// An import is killed before it writes decisions that it has marked as on their way.
const UNWRITTEN: &str = "BEFORE INSERT OR UPDATE ON consent FOR EACH ROW";
/// Clients and their marks as a version left them that took over when they were changed as it is told there.
const BY_ITS_CLOCK: &str = "
    UPDATE client SET updated_at = updated_at - 43200000;
    UPDATE hydra_mark AS m SET changed_at = c.updated_at FROM client AS c WHERE c.client_id = m.id";

impl Site {
    /// Changes what Sluice has.
    async fn here(&self, sql: &str) {
        PrivateCluster::shared().await.execute(&self.database.dsn, sql).await;
    }

    /// Imports a part, and is killed at this.
    async fn interrupted(&self, at: &str, part: &str) {
        self.here(&format!(
            "CREATE FUNCTION interrupt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'interrupted'; END $$;
             CREATE TRIGGER interrupt {at} EXECUTE FUNCTION interrupt()"
        ))
        .await;
        let import = self.import(HYDRA_SECRET, &["--only", part]);
        assert!(!import.success && !import.stdout.contains(part), "{}", import.stdout);
        self.here("DROP FUNCTION interrupt CASCADE").await;
    }

    /// How many lines of the audit trail that begin so the import of a part leaves.
    fn told(&self, part: &str, line: &str) -> usize {
        let import = self.import(HYDRA_SECRET, &["--only", part]);
        import.stderr.matches(&format!("sluice_audit: {line}")).count()
    }
}

/// Once more, if that import came to it.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_interrupted_import_left_is_told_by_the_next_one() {
    let site = Site::new(Backend::Postgres).await;
    site.interrupted(UNMARKED, "clients").await;
    let line = "client imported client.id=";
    assert_eq!(site.told("clients", line), 4, "the first of them was here");
    assert_eq!(site.told("clients", line), 0);
    site.at_hydra("UPDATE hydra_client SET updated_at = '2024-12-02' WHERE id = 'web'").await;
    site.interrupted(UNMARKED, "clients").await;
    assert_eq!(site.told("clients", line), 1, "it was as it is there");
    assert_eq!(site.told("clients", line), 0);
    site.interrupted(UNMARKED, "issuers").await;
    assert_eq!(site.told("issuers", "issuer imported trust.id="), 1);
    assert_eq!(site.told("issuers", "issuer imported"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_whose_mark_an_interrupted_import_left_comes_back_with_hydra() {
    let site = Site::new(Backend::Postgres).await;
    site.import(HYDRA_SECRET, &["--only", "clients"]);
    let sluice = site.serves().await;
    sluice.ask_json(Method::DELETE, "/admin/clients/web", None, 204).await;
    sluice.node.stop().await;
    assert_eq!(site.again("clients"), ([0, 4, 1], 0), "it was deleted here");
    site.here("UPDATE hydra_mark SET is_going = TRUE WHERE id = 'web'").await;
    assert_eq!(site.again("clients"), ([1, 3, 1], 0));
    assert_eq!(site.again("clients"), ([0, 4, 1], 0));
    let sluice = site.serves().await;
    assert!(!gone(&sluice, "/admin/clients/web").await);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_interrupted_import_had_not_marked_is_taken_away_with_hydra() {
    let site = Site::new(Backend::Postgres).await;
    let interrupted = async |part: &str| site.interrupted(UNMARKED, part).await;
    interrupted("clients").await;
    site.at_hydra("DELETE FROM hydra_client WHERE id = 'post'").await;
    assert_eq!(site.again("clients"), ([3, 0, 1], 1), "the first of them was here");
    interrupted("issuers").await;
    site.at_hydra("DELETE FROM hydra_oauth2_trusted_jwt_bearer_issuer").await;
    assert_eq!(site.again("issuers"), ([0, 0, 0], 1));
    interrupted("consents").await;
    site.at_hydra(
        "CREATE TABLE kept AS TABLE hydra_oauth2_flow; DELETE FROM hydra_oauth2_flow WHERE subject = 'alice'",
    )
    .await;
    assert_eq!(site.again("consents"), ([0, 0, 0], 1));
    // A later decision, in the place of one that was imported.
    let later = "DELETE FROM hydra_oauth2_flow; INSERT INTO hydra_oauth2_flow SELECT * FROM kept;
        UPDATE hydra_oauth2_flow SET requested_at = '2024-12-02', consent_handled_at = '2024-12-02'";
    site.at_hydra(later).await;
    assert_eq!(site.again("consents"), ([1, 0, 0], 0));
    site.at_hydra(&later.replace("2024-12-02", "2024-12-03")).await;
    interrupted("consents").await;
    site.at_hydra("DELETE FROM hydra_oauth2_flow WHERE subject = 'alice'").await;
    assert_eq!(site.again("consents"), ([0, 0, 0], 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_an_interrupted_import_left_is_followed_when_it_is_registered_anew_there() {
    let site = Site::new(Backend::Postgres).await;
    site.interrupted(UNMARKED, "clients").await;
    site.at_hydra(
        "UPDATE hydra_client SET created_at = '2024-12-01', updated_at = '2024-12-01' WHERE id = 'post'",
    )
    .await;
    let import = site.import(HYDRA_SECRET, &["--only", "clients"]);
    assert_eq!(counts(&summary(&import), "clients"), [4, 0, 1], "the first of them was here");
    assert!(!import.stderr.contains("another client has this id here"), "{}", import.stderr);
    assert_eq!(site.again("clients"), ([0, 4, 1], 0));
    let sluice = site.serves().await;
    let post = sluice.ask_json(Method::GET, "/admin/clients/post", None, 200).await;
    assert_eq!(post["created_at"], "2024-11-30T23:59:59Z", "{post}");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_an_interrupted_import_left_and_that_was_changed_here_is_not_warned_about() {
    let site = Site::new(Backend::Postgres).await;
    site.interrupted(UNMARKED, "clients").await;
    let sluice = site.serves().await;
    let changed = json!([{"op": "replace", "path": "/client_name", "value": "Changed here"}]);
    sluice.ask_json(Method::PATCH, "/admin/clients/post", Some(&changed), 200).await;
    let import = site.import(HYDRA_SECRET, &["--only", "clients"]);
    assert_eq!(counts(&summary(&import), "clients"), [3, 1, 1]);
    assert!(!import.stderr.contains("client post: it was changed"), "{}", import.stderr);
    sluice.ask_json(Method::DELETE, "/admin/clients/post", None, 204).await;
    assert_eq!(site.again("clients"), ([0, 4, 1], 0), "it was deleted here");
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consent_that_was_not_written_takes_that_alone_with_it_whose_place_it_was_to_take() {
    let site = Site::new(Backend::Postgres).await;
    site.import(HYDRA_SECRET, &[]);
    let decided = |at: &str| {
        format!(
            "UPDATE hydra_oauth2_flow SET consent_remember = TRUE, requested_at = '{at}', consent_handled_at = '{at}'
             WHERE subject = 'alice'"
        )
    };
    let withdrawn = "UPDATE hydra_oauth2_flow SET consent_remember = FALSE WHERE subject = 'alice'";
    site.at_hydra(&decided("2024-12-02")).await;
    site.interrupted(UNWRITTEN, "consents").await;
    site.at_hydra(withdrawn).await;
    assert_eq!(site.again("consents"), ([0, 0, 0], 1), "the one that was imported");
    let sluice = site.serves().await;
    let web = application(&sluice, ("web", Some("web-secret-0123456")), "client_secret_basic");
    decide(&sluice, &web).await;
    // Whatever the clock there says.
    site.at_hydra(&decided("2099-12-02")).await;
    site.interrupted(UNWRITTEN, "consents").await;
    site.at_hydra(withdrawn).await;
    assert_eq!(site.again("consents"), ([0, 0, 0], 0));
    assert!(skips_still(&sluice, &web).await);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_an_earlier_version_are_followed_and_not_warned_about() {
    let site = Site::new(Backend::Postgres).await;
    site.import(HYDRA_SECRET, &["--only", "clients"]);
    site.here(BY_ITS_CLOCK).await;
    let sluice = site.serves().await;
    let changed = json!([{"op": "replace", "path": "/client_name", "value": "Changed here"}]);
    sluice.ask_json(Method::PATCH, "/admin/clients/web", Some(&changed), 200).await;
    sluice.node.stop().await;
    site.at_hydra("UPDATE hydra_client SET updated_at = '2024-12-02' WHERE id = 'post'").await;
    let import = site.import(HYDRA_SECRET, &["--only", "clients"]);
    assert_eq!(counts(&summary(&import), "clients"), [3, 1, 1], "what did not change is written once more");
    assert!(!import.stderr.contains("it was changed here"), "{}", import.stderr);
    assert_eq!(site.again("clients"), ([0, 4, 1], 0));
    let sluice = site.serves().await;
    for (id, updated_at) in [("post", "2024-12-02T12:00:00Z"), ("rich", "2024-11-28T13:09:29.782Z")] {
        let client = sluice.ask_json(Method::GET, &format!("/admin/clients/{id}"), None, 200).await;
        assert_eq!(client["updated_at"], updated_at, "{client}");
    }
    sluice.node.stop().await;
}
