//! The whole body of a request, in one piece.

use std::future::poll_fn;
use std::pin::{Pin, pin};

use bytes::{Bytes, BytesMut};
use http_body::Body;
use thiserror::Error;

/// Why there is no whole body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoWholeBody {
    /// It is longer than may be.
    #[error("the body is too long")]
    TooLong,
    /// Whoever sent it went away.
    #[error("the body broke off")]
    BrokeOff,
}

/// The body, of at most `most` bytes. One that came in one piece is not copied. Of others each piece is let go as soon as it is
/// copied: it may keep much more in memory than its bytes. One that says itself that it is longer is not asked for: a client that waits for
/// `100 Continue` (RFC 9110 §10.1.1) sends nothing of it.
///
/// # Errors
/// [`NoWholeBody`] says why there is none.
pub async fn whole_body<B>(body: B, most: usize) -> Result<Bytes, NoWholeBody>
where
    B: Body<Data = Bytes>,
{
    let (mut body, mut left) = (pin!(body), most);
    if usize::try_from(body.size_hint().lower()).map_or(true, |announced| announced > most) {
        return Err(NoWholeBody::TooLong);
    }
    let Some(first) = next(body.as_mut(), &mut left).await? else { return Ok(Bytes::new()) };
    let Some(second) = next(body.as_mut(), &mut left).await? else { return Ok(first) };
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX).min(left);
    let mut whole = BytesMut::with_capacity(first.len() + second.len() + announced);
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    drop((first, second));
    while let Some(piece) = next(body.as_mut(), &mut left).await? {
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// The next piece that is not empty, unless it is longer than what is left.
async fn next<B>(mut body: Pin<&mut B>, left: &mut usize) -> Result<Option<Bytes>, NoWholeBody>
where
    B: Body<Data = Bytes>,
{
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let frame = frame.map_err(|_| NoWholeBody::BrokeOff)?;
        if let Ok(piece) = frame.into_data()
            && !piece.is_empty()
        {
            *left = left.checked_sub(piece.len()).ok_or(NoWholeBody::TooLong)?;
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::task::{Context, Poll};

    use futures_util::stream;
    use http_body::{Frame, SizeHint};

    use super::*;

    /// How many pieces are held, and how many were at most.
    #[derive(Default)]
    struct Held {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    /// One byte.
    struct Piece(Arc<Held>);

    impl Piece {
        fn of(held: &Arc<Held>) -> Self {
            let now = held.now.fetch_add(1, Relaxed) + 1;
            held.most.fetch_max(now, Relaxed);
            Self(Arc::clone(held))
        }
    }

    impl AsRef<[u8]> for Piece {
        fn as_ref(&self) -> &[u8] {
            b"x"
        }
    }

    impl Drop for Piece {
        fn drop(&mut self) {
            self.0.now.fetch_sub(1, Relaxed);
        }
    }

    fn in_pieces(count: usize, held: &Arc<Held>) -> axum::body::Body {
        let held = Arc::clone(held);
        let pieces = (0..count).map(move |_| Ok::<_, Infallible>(Bytes::from_owner(Piece::of(&held))));
        axum::body::Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn of_a_body_in_many_pieces_no_more_than_two_are_held() {
        let held = Arc::default();
        let whole = whole_body(in_pieces(1000, &held), 1000).await;
        assert_eq!(whole.as_deref(), Ok("x".repeat(1000).as_bytes()));
        assert_eq!((held.most.load(Relaxed), held.now.load(Relaxed)), (2, 0));
        assert_eq!(whole_body(in_pieces(1001, &held), 1000).await, Err(NoWholeBody::TooLong));
    }

    #[tokio::test]
    async fn a_body_in_one_piece_is_that_piece() {
        let piece = Bytes::from("one piece".to_owned());
        let whole = whole_body(axum::body::Body::from(piece.clone()), 9).await.unwrap();
        assert_eq!((whole.as_ptr(), whole.len()), (piece.as_ptr(), 9), "it was not copied");
        assert_eq!(whole_body(axum::body::Body::from(piece), 8).await, Err(NoWholeBody::TooLong));
        assert_eq!(whole_body(axum::body::Body::empty(), 0).await, Ok(Bytes::new()));
    }

    /// So long, and not to be asked for.
    struct Announced(u64);

    impl Body for Announced {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            panic!("it was asked for")
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(self.0)
        }
    }

    #[tokio::test]
    async fn a_body_that_says_itself_that_it_is_too_long_is_not_asked_for() {
        for length in [9, u64::MAX] {
            assert_eq!(whole_body(Announced(length), 8).await, Err(NoWholeBody::TooLong), "{length}");
        }
    }

    #[tokio::test]
    async fn a_body_that_broke_off_is_none() {
        let pieces = [Ok("some"), Err(io::Error::other("gone"))];
        let body = axum::body::Body::from_stream(stream::iter(pieces));
        assert_eq!(whole_body(body, 100).await, Err(NoWholeBody::BrokeOff));
    }
}
