//! Reading a body that may be too large.

use bytes::{Bytes, BytesMut};
use reqwest::Response;

use super::FetchError;

/// Reads the body; gives up as soon as it is known to exceed `limit` bytes.
pub(super) async fn read(mut response: Response, limit: usize) -> Result<Bytes, FetchError> {
    let too_large = FetchError::TooLarge { limit };
    let announced = response.content_length().unwrap_or_default();
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(too_large);
    }
    let mut body = BytesMut::with_capacity(announced);
    while let Some(chunk) = response.chunk().await.map_err(FetchError::of)? {
        if chunk.len() > limit - body.len() {
            return Err(too_large);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
