//! Clients that go away in the middle of what changes something.

use reqwest::StatusCode;
use serde_json::json;
use sluice_testkit::Backend;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::application::http_client;
use crate::process::{Site, until};

const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// The deletion of a client is under way in the database when whoever asked resets the connection.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_began_is_done_and_told_to_the_audit_when_the_client_is_gone() {
    let mut site = Site::fresh(Backend::Postgres).await;
    site.log("sluice::observability::request_log");
    let process = site.start().await;
    let clients = process.admin.join("/admin/clients").unwrap();
    let made = http_client().post(clients).json(&json!({"client_id": "left-behind"})).send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    let (lock, looking) = (site.connection().await, site.connection().await);
    lock.batch_execute("BEGIN; LOCK TABLE client IN EXCLUSIVE MODE").await.unwrap();

    let address = (process.admin.host_str().unwrap(), process.admin.port().unwrap());
    let mut gone = TcpStream::connect(address).await.unwrap();
    let request = "DELETE /admin/clients/left-behind HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    gone.write_all(request.as_bytes()).await.unwrap();
    until("the deletion waits for the lock", async || {
        looking.query_one(WAITING, &[]).await.unwrap().get::<_, i64>(0) > 0
    })
    .await;
    gone.set_zero_linger().unwrap();
    drop(gone);
    process.logs(&["request abandoned by its client"]).await;
    lock.batch_execute("COMMIT").await.unwrap();

    process.logs(&["client deleted by an administrator", "left-behind"]).await;
    process.has_not_panicked();
}
