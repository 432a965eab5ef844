//! What a database of Hydra that is another one, empty, restored by half or behind lacks was not deleted there: nothing is taken away for that.

use serde_json::Value;
use sluice_testkit::Backend;

use super::followed::gone;
use super::tokens::OF_ALICE;
use super::{HYDRA_SECRET, Site, counts, summary};
use crate::both_stores::on_both_stores;
use crate::program::Ended;

on_both_stores!(
    more_clients_than_anybody_deletes_are_kept,
    tokens_are_kept_if_none_lives_there,
    a_hydra_without_keys_is_not_whole,
    nothing_is_taken_away_for_a_standby,
    what_was_imported_before_a_failure_is_told,
    rows_that_the_role_may_not_see_are_not_taken_for_deleted,
    keys_come_along_by_a_role_that_may_read_nothing_else,
    all_comes_along_by_a_role_that_may_read_what_the_documentation_says,
);

/// How much of a part has ended.
fn ended_of(import: &Ended, part: &str) -> Value {
    summary(import)[part]["ended"].clone()
}

async fn more_clients_than_anybody_deletes_are_kept(backend: Backend) {
    let site = Site::new(backend).await;
    // Sixteen that can be here.
    site.at_hydra(
        "INSERT INTO hydra_client
         SELECT (jsonb_populate_record(c, jsonb_build_object('id', 'copy-' || n))).*
         FROM hydra_client AS c CROSS JOIN generate_series(1, 12) AS n WHERE c.id = 'spa'",
    )
    .await;
    assert_eq!(counts(&summary(&site.import(HYDRA_SECRET, &[])), "clients"), [16, 0, 1]);
    site.at_hydra("DELETE FROM hydra_client WHERE id = 'copy-12'").await;
    assert_eq!(site.again("clients"), ([0, 15, 1], 1));
    site.at_hydra("DELETE FROM hydra_client WHERE id LIKE 'copy-%'").await;
    let import = site.import(HYDRA_SECRET, &["--only", "clients"]);
    assert!(!import.success && ended_of(&import, "clients") == 0, "{}", import.stdout);
    assert!(import.stderr.contains("clients: 11 of 15 that were imported"), "{}", import.stderr);
    let sluice = site.serves().await;
    assert!(!gone(&sluice, "/admin/clients/copy-1").await);
    let import = site.import(HYDRA_SECRET, &["--only", "clients", "--take-away-all"]);
    assert_eq!(ended_of(&import, "clients"), 11);
    sluice.node.stop().await;
    let sluice = site.serves().await;
    assert!(gone(&sluice, "/admin/clients/copy-1").await && !gone(&sluice, "/admin/clients/spa").await);
    sluice.node.stop().await;
}

async fn tokens_are_kept_if_none_lives_there(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    site.at_hydra("UPDATE hydra_oauth2_refresh SET active = FALSE").await;
    let import = site.import(HYDRA_SECRET, &["--only", "tokens"]);
    assert!(!import.success && ended_of(&import, "tokens") == 0, "{}", import.stdout);
    assert!(import.stderr.contains("tokens: 2 of 2 that were imported"), "{}", import.stderr);
    let sluice = site.serves().await;
    assert!(sluice.is_active(OF_ALICE).await);
    let import = site.import(HYDRA_SECRET, &["--only", "tokens", "--take-away-all"]);
    assert!(import.success && ended_of(&import, "tokens") == 2, "{}{}", import.stdout, import.stderr);
    assert!(!sluice.is_active(OF_ALICE).await);
    sluice.node.stop().await;
}

async fn a_hydra_without_keys_is_not_whole(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    site.at_hydra("DELETE FROM hydra_jwk; DELETE FROM hydra_client").await;
    let import = site.import(HYDRA_SECRET, &["--take-away-all"]);
    assert!(!import.success && import.stderr.contains("has no signing keys"), "{}", import.stderr);
    let sluice = site.serves().await;
    assert!(!gone(&sluice, "/admin/clients/web").await);
    sluice.node.stop().await;
}

async fn nothing_is_taken_away_for_a_standby(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    let name = site.hydra.name();
    // As a standby answers.
    let is_standby = format!(
        "CREATE FUNCTION public.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT TRUE';
         ALTER DATABASE {name} SET search_path = public, pg_catalog"
    );
    site.at_hydra(&is_standby).await;
    site.at_hydra(
        "DELETE FROM hydra_client WHERE id = 'web';
         UPDATE hydra_oauth2_refresh SET active = FALSE WHERE subject = 'alice'",
    )
    .await;
    let dsn = site.hydra.dsn();
    let between = if dsn.contains('?') { '&' } else { '?' };
    let dsn = format!("{dsn}{between}target_session_attrs=any");
    let import = site.import_from(&dsn, HYDRA_SECRET, &["--take-away-all"]);
    assert_eq!((ended_of(&import, "clients"), ended_of(&import, "tokens")), (0.into(), 0.into()));
    assert_eq!(import.stderr.matches("is a standby").count(), 1, "{}", import.stderr);
    let sluice = site.serves().await;
    assert!(!gone(&sluice, "/admin/clients/web").await && sluice.is_active(OF_ALICE).await);
    sluice.node.stop().await;
}

async fn what_was_imported_before_a_failure_is_told(backend: Backend) {
    let site = Site::new(backend).await;
    site.at_hydra("DROP TABLE hydra_oauth2_flow").await;
    let import = site.import(HYDRA_SECRET, &[]);
    let imported = summary(&import);
    assert_eq!((counts(&imported, "clients"), imported.get("consents")), ([4, 0, 1], None));
    let is_told = import.stderr.contains("this is not the database of an Ory Hydra 2.x");
    assert!(!import.success && is_told, "{}", import.stderr);
}

async fn rows_that_the_role_may_not_see_are_not_taken_for_deleted(backend: Backend) {
    let site = Site::new(backend).await;
    site.import(HYDRA_SECRET, &[]);
    // Roles are of the whole cluster: one of its own for each database.
    let reader = format!("reader_{}", site.hydra.name());
    site.at_hydra(&format!(
        "CREATE ROLE \"{reader}\" LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO \"{reader}\";
         ALTER TABLE hydra_client ENABLE ROW LEVEL SECURITY;
         CREATE POLICY all_but_one ON hydra_client FOR SELECT USING (id <> 'web')"
    ))
    .await;
    let mut dsn = url::Url::parse(site.hydra.dsn()).unwrap();
    dsn.set_username(&reader).unwrap();
    let import = site.import_from(dsn.as_str(), HYDRA_SECRET, &[]);
    assert!(!import.success && import.stderr.contains("row-level security"), "{}", import.stderr);
    site.at_hydra(&format!("DROP OWNED BY \"{reader}\"; DROP ROLE \"{reader}\"")).await;
    let sluice = site.serves().await;
    assert!(!gone(&sluice, "/admin/clients/web").await);
    sluice.node.stop().await;
}

/// Whom that Hydra trusts says which sets of keys are left behind, and is not taken over with them.
async fn keys_come_along_by_a_role_that_may_read_nothing_else(backend: Backend) {
    let site = Site::new(backend).await;
    let reader = format!("keys_{}", site.hydra.name());
    let may_read = format!("GRANT SELECT ON networks, hydra_jwk TO \"{reader}\"");
    site.at_hydra(&format!("CREATE ROLE \"{reader}\" LOGIN; {may_read}")).await;
    let mut dsn = url::Url::parse(site.hydra.dsn()).unwrap();
    dsn.set_username(&reader).unwrap();
    let import = site.import_from(dsn.as_str(), HYDRA_SECRET, &["--only", "keys"]);
    let is_told = import.stderr.contains("warning: which key sets are not taken over cannot be told: ");
    assert!(import.success && is_told, "{}", import.stderr);
    assert_eq!(counts(&summary(&import), "keys"), [1, 0, 0]);
    site.at_hydra(&format!("DROP OWNED BY \"{reader}\"; DROP ROLE \"{reader}\"")).await;
}

async fn all_comes_along_by_a_role_that_may_read_what_the_documentation_says(backend: Backend) {
    let page = include_str!("../../../../../docs/hydra.md");
    let granted = page.lines().find_map(|line| line.trim().strip_prefix("GRANT SELECT ON ")).unwrap();
    let (tables, _) = granted.split_once(" TO ").unwrap();
    let site = Site::new(backend).await;
    let reader = format!("all_{}", site.hydra.name());
    site.at_hydra(&format!("CREATE ROLE \"{reader}\" LOGIN; GRANT SELECT ON {tables} TO \"{reader}\"")).await;
    let mut dsn = url::Url::parse(site.hydra.dsn()).unwrap();
    dsn.set_username(&reader).unwrap();
    let import = site.import_from(dsn.as_str(), HYDRA_SECRET, &[]);
    assert!(!import.stderr.contains("permission denied"), "{}", import.stderr);
    let imported = summary(&import);
    for (part, count) in [("keys", 1), ("clients", 4), ("issuers", 1), ("consents", 1), ("tokens", 2)] {
        assert_eq!(counts(&imported, part)[0], count, "{part}");
    }
    site.at_hydra(&format!("DROP OWNED BY \"{reader}\"; DROP ROLE \"{reader}\"")).await;
}
