//! A server that answers as it is told, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use sluice_primitives::{ManualClock, SeededRng, Timestamp};
use tokio::net::TcpListener;

use crate::cli::remote::server::Server;
use crate::cli::remote::tls;
use crate::cli::{Cli, Commands, Console, Exit};

/// 2025-01-01T00:00:00Z.
pub(super) const NOW: Timestamp = Timestamp::from_secs(1_735_689_600);

/// What the server was asked.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) line: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

type Script = Arc<dyn Fn(&Asked) -> Response + Send + Sync>;

/// A server that answers as it is told.
pub(super) struct Stub {
    pub(super) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Stub {
    pub(super) async fn start(script: impl Fn(&Asked) -> Response + Send + Sync + 'static) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let state: (Script, _) = (Arc::new(script), asked.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new().fallback(answer).with_state(state);
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, asked }
    }

    /// Always the same answer.
    pub(super) async fn answering(status: u16, json: Value) -> Self {
        Self::start(move |_| reply(status, &json)).await
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The only request that came.
    pub(super) fn only(&self) -> Asked {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked[0].clone()
    }

    /// This server, as the verbs ask it.
    pub(super) fn server(&self) -> Server {
        let base = format!("http://{}", self.address).parse().unwrap();
        Server::new(base, HeaderMap::new(), tls::client_config(None, true).unwrap()).unwrap()
    }

    /// Runs a command line against this server.
    pub(super) async fn run(&self, line: &str) -> Outcome {
        self.run_with(line, &[]).await
    }

    pub(super) async fn run_with(&self, line: &str, environment: &[(&str, &str)]) -> Outcome {
        let arguments = line.split_whitespace().map(str::to_owned);
        let endpoint = ["--endpoint".to_owned(), format!("http://{}", self.address)];
        run(arguments.chain(endpoint).collect(), environment).await
    }
}

/// What a command printed and ended with.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) exit: Exit,
    pub(super) out: String,
    pub(super) err: String,
}

pub(super) async fn run(arguments: Vec<String>, environment: &[(&str, &str)]) -> Outcome {
    let cli = Cli::read(&arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    let Commands::Remote(command) = cli.command else { panic!("{arguments:?} is not remote") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let variable = |name: &str| {
        environment.iter().find(|(candidate, _)| *candidate == name).map(|(_, value)| (*value).to_owned())
    };
    let mut console = Console {
        out: &mut out,
        err: &mut err,
        variable: &variable,
        clock: &ManualClock::at(NOW),
        rng: &SeededRng::new(7),
    };
    let exit = command.run(&mut console).await;
    Outcome { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

pub(super) fn reply(status: u16, json: &Value) -> Response {
    let body = if json.is_null() { String::new() } else { json.to_string() };
    (StatusCode::from_u16(status).unwrap(), body).into_response()
}

async fn answer(State((script, log)): State<(Script, Arc<Mutex<Vec<Asked>>>)>, request: Request) -> Response {
    let line = format!("{} {}", request.method(), request.uri());
    let headers = request.headers().clone();
    let body = to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let asked = Asked { line, headers, body: String::from_utf8(body.to_vec()).unwrap() };
    let response = script(&asked);
    log.lock().unwrap().push(asked);
    response
}
