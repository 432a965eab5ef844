//! A connection over HTTP/1.1. It has no task of its own: whoever uses it drives it, and a request costs no hand-over
//! between tasks.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use super::connect::Wire;
use super::waiting::Waiting;
use crate::proxy::alarm::Alarm;
use crate::proxy::body::RequestBody;
use crate::proxy::fault::Fault;

/// hyper's side of a connection, whose type has no name.
type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// A connection to a server, for one request at a time.
pub(in crate::proxy) struct Link {
    sender: SendRequest<RequestBody>,
    /// `None` once the connection has ended or became something else.
    driver: Option<Driver>,
    alarm: Alarm,
    /// Since when it is in the pool. `None`: it never was.
    pub(super) idle_since: Option<Instant>,
}

/// Why a request got no answer, and the request itself where nothing of it was sent.
pub(super) struct Failure {
    pub(super) fault: Fault,
    pub(super) unsent: Option<Box<Request<RequestBody>>>,
}

impl Link {
    /// Speaks HTTP/1.1 on `wire`.
    pub(super) async fn open(wire: Wire) -> Result<Self, Fault> {
        let opened = Builder::new().handshake::<_, RequestBody>(TokioIo::new(wire)).await;
        let (sender, connection) = opened.map_err(|_| Fault::Connect)?;
        let driver: Driver = Box::pin(connection.with_upgrades());
        Ok(Self { sender, driver: Some(driver), alarm: Alarm::default(), idle_since: None })
    }

    /// Lets the connection do what it can.
    pub(in crate::proxy) fn drive(&mut self, context: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && driver.as_mut().poll(context).is_ready()
        {
            self.driver = None;
        }
    }

    /// Whether it can take a request; what the server sent unasked, or its end, is noticed here.
    pub(super) fn is_usable(&mut self, context: &mut Context<'_>) -> bool {
        self.drive(context);
        self.driver.is_some() && self.sender.is_ready()
    }

    /// For waits on this connection.
    pub(in crate::proxy) fn alarm(&mut self) -> &mut Alarm {
        &mut self.alarm
    }

    /// Drives the connection until it has handed its wire over to another protocol, or ended.
    pub(in crate::proxy) async fn hand_over(mut self) {
        poll_fn(|context| {
            self.drive(context);
            if self.driver.is_none() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn exchange(
        &mut self,
        request: Request<RequestBody>,
        mut waiting: Waiting<'_>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let (driver, alarm) = (&mut self.driver, &mut self.alarm);
        poll_fn(|context| {
            if let Some(running) = driver
                && running.as_mut().poll(context).is_ready()
            {
                *driver = None;
            }
            if let Poll::Ready(answered) = answer.as_mut().poll(context) {
                return Poll::Ready(answered.map_err(Failure::from));
            }
            waiting.poll(context, alarm).map(|fault| Err(Failure { fault, unsent: None }))
        })
        .await
    }
}

impl From<TrySendError<Request<RequestBody>>> for Failure {
    fn from(mut error: TrySendError<Request<RequestBody>>) -> Self {
        let fault = if error.error().is_parse() { Fault::BadAnswer } else { Fault::Reset };
        Self { fault, unsent: error.take_message().map(Box::new) }
    }
}
