//! The whole body of a request, within a time that ends: what waits for a body holds a connection, and whatever was checked of the
//! request before it came.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use sluice_net::{NoWholeBody, whole_body};
use thiserror::Error;

use crate::patience::within;

/// However slowly it comes, a body is there after this, or the request is refused.
const LONGEST: Duration = Duration::from_secs(20);

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum NoBody {
    /// It is longer than may be.
    #[error("the body is too long")]
    TooLarge,
    /// Whoever sent it went away.
    #[error("the body broke off")]
    BrokeOff,
    /// It did not come in time.
    #[error("the body did not come within {} s", LONGEST.as_secs())]
    TooSlow,
}

impl NoBody {
    /// With what such a request is refused.
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BrokeOff => StatusCode::BAD_REQUEST,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
        }
    }
}

/// The body, of at most `most` bytes.
pub(crate) async fn whole(body: Body, most: usize) -> Result<Bytes, NoBody> {
    let read = within(LONGEST, whole_body(body, most)).await.ok_or(NoBody::TooSlow)?;
    read.map_err(|none| match none {
        NoWholeBody::TooLong => NoBody::TooLarge,
        NoWholeBody::BrokeOff => NoBody::BrokeOff,
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use tokio::time::sleep;

    use super::*;

    /// A byte each `pause`.
    fn trickling(count: usize, pause: Duration) -> Body {
        Body::from_stream(stream::unfold(count, move |left| async move {
            sleep(pause).await;
            let left = left.checked_sub(1)?;
            Some((Ok::<_, Infallible>("x"), left))
        }))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_has_so_much_time_altogether_and_not_for_each_byte() {
        let in_time = whole(trickling(15, Duration::from_secs(1)), 100).await;
        assert_eq!(in_time.as_deref(), Ok("x".repeat(15).as_bytes()));
        assert_eq!(whole(trickling(30, Duration::from_secs(1)), 100).await, Err(NoBody::TooSlow));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_long_is_no_body() {
        assert_eq!(whole(Body::from("12345"), 4).await, Err(NoBody::TooLarge));
        assert_eq!(whole(Body::from("1234"), 4).await.as_deref(), Ok(&b"1234"[..]));
    }
}
