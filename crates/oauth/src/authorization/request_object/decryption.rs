//! Request objects that are encrypted to us. Anybody may send one, and to open it costs as much as a signature: so it is done
//! beside the threads that answer, by few at a time, and only so many wait.

use std::sync::Arc;

use sluice_crypto::jwe::{self, DecryptError, DecryptionKey};
use sluice_crypto::jws::VerifyError;
use tokio::sync::Semaphore;

use super::error::RequestObjectError;

/// So many are opened at once.
const AT_ONCE: usize = 2;
/// So many may be there, opened or waiting; the next is sent away.
const AT_MOST: usize = 64;

/// Opens request objects.
#[derive(Debug, Clone)]
pub struct Decryption {
    present: Arc<Semaphore>,
    opening: Arc<Semaphore>,
}

impl Default for Decryption {
    fn default() -> Self {
        Self { present: Arc::new(Semaphore::new(AT_MOST)), opening: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Decryption {
    /// What is within an encrypted object; none if it is not encrypted.
    pub(super) async fn open(
        &self,
        token: &str,
        keys: Arc<[DecryptionKey]>,
    ) -> Result<Option<String>, RequestObjectError> {
        if token.bytes().filter(|byte| *byte == b'.').count() != 4 {
            return Ok(None);
        }
        let busy = |_| RequestObjectError::Busy;
        let present = Arc::clone(&self.present).try_acquire_owned().map_err(busy)?;
        let opening =
            Arc::clone(&self.opening).acquire_owned().await.map_err(|_| RequestObjectError::Busy)?;
        let token = token.to_owned();
        let open = move || {
            // Whoever asked may be gone: the place is free when the work is done.
            let _places = (present, opening);
            jwe::decrypt(&token, &keys)
        };
        let opened = tokio::task::spawn_blocking(open).await.map_err(|_| DecryptError::NotDecrypted)??;
        // Anybody can encrypt to us: only a signature says whose words these are, so what is within is judged as a whole.
        let inner = str::from_utf8(&opened.payload).map_err(|_| VerifyError::Malformed)?;
        Ok(Some(inner.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use sluice_protocol::ErrorCode;

    use super::*;

    const ENCRYPTED: &str = "a.b.c.d.e";

    async fn refusal(decryption: &Decryption) -> ErrorCode {
        decryption.open(ENCRYPTED, Arc::new([])).await.unwrap_err().code()
    }

    #[tokio::test]
    async fn who_finds_no_place_is_told_to_come_again() {
        let decryption = Decryption::default();
        assert_eq!(refusal(&decryption).await, ErrorCode::InvalidRequestObject);
        let all = decryption.present.acquire_many(u32::try_from(AT_MOST).unwrap()).await.unwrap();
        assert_eq!(refusal(&decryption).await, ErrorCode::TemporarilyUnavailable);
        assert!(matches!(decryption.open("a.b.c", Arc::new([])).await, Ok(None)), "this one costs nothing");
        drop(all);
        for _ in 0..=AT_MOST {
            assert_eq!(refusal(&decryption).await, ErrorCode::InvalidRequestObject);
        }
    }

    #[tokio::test]
    async fn no_more_are_opened_at_once_than_may_be() {
        let decryption = Decryption::default();
        let places = decryption.opening.acquire_many(u32::try_from(AT_ONCE).unwrap()).await.unwrap();
        let waiting = tokio::spawn({
            let decryption = decryption.clone();
            async move { refusal(&decryption).await }
        });
        while decryption.present.available_permits() == AT_MOST {
            tokio::task::yield_now().await;
        }
        assert!(!waiting.is_finished());
        drop(places);
        assert_eq!(waiting.await.unwrap(), ErrorCode::InvalidRequestObject);
    }
}
