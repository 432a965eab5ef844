//! `sluice worker`.

use std::ffi::OsString;

use sluice_commit::chain;
use tracing::error;

use super::serve::{observe, until_told_to_stop};
use super::{load, memory_limit};
use crate::app::{WorkerOptions, World, run_worker};
use crate::cli::{Exit, WorkerCommand};

/// Hardens until it is told to stop.
pub(crate) async fn run(worker: WorkerCommand, environment: Vec<(OsString, OsString)>) -> Exit {
    let sources = worker.configuration.sources(environment);
    let Some(loaded) = load(&sources) else { return Exit::Failure };
    let (guard, traces) = match observe(&loaded) {
        Ok(observed) => observed,
        Err(error) => {
            eprintln!("{}", chain(&error));
            return Exit::Failure;
        }
    };
    memory_limit::tell_of_worker(&loaded.settings.identity);
    let options = WorkerOptions { data_dir: sources.data_dir.clone(), metrics_port: worker.metrics_port };
    let done = run_worker(&loaded.settings, &options, World::real(), until_told_to_stop()).await;
    if let Err(error) = &done {
        error!(error = %chain(error), "the worker does not start");
    }
    if let Some(traces) = traces {
        traces.shutdown().await;
    }
    drop(guard);
    if done.is_ok() { Exit::Success } else { Exit::Failure }
}
