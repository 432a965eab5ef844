//! Runs each test on both stores.

/// Makes two tests of each function `async fn(Backend)`: `name::on_sqlite` and `name::on_postgres`.
macro_rules! on_both_stores {
    ($($test:ident),+ $(,)?) => {$(
        mod $test {
            #[tokio::test(flavor = "multi_thread")]
            async fn on_sqlite() {
                super::$test(sluice_testkit::Backend::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_postgres() {
                super::$test(sluice_testkit::Backend::Postgres).await;
            }
        }
    )+};
}

pub(crate) use on_both_stores;
