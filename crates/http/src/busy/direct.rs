//! Handlers that are called without the router's boxes: an answer under way is made in one place, however large it is.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};

/// A handler as the router takes them: a function of parts of a request, the last of which may read its body.
pub(crate) trait Direct<T, S>: Clone + Send + Sync + 'static {
    /// Calls it with what it takes. What a request does not have is answered as by the router.
    fn answer(
        &self,
        request: Request,
        state: S,
    ) -> impl Future<Output = Response> + Send + use<Self, T, S> + 'static;
}

macro_rules! direct {
    ($($part:ident),*; $last:ident) => {
        #[expect(non_snake_case, reason = "named as their types")]
        impl<F, Answer, Answered, S, Way, $($part,)* $last> Direct<(Way, $($part,)* $last), S> for F
        where
            F: Fn($($part,)* $last) -> Answer + Clone + Send + Sync + 'static,
            Answer: Future<Output = Answered> + Send + 'static,
            Answered: IntoResponse + 'static,
            S: Send + Sync + 'static,
            Way: 'static,
            $($part: FromRequestParts<S> + Send + 'static,)*
            $last: FromRequest<S, Way> + Send + 'static,
        {
            fn answer(
                &self,
                request: Request,
                state: S,
            ) -> impl Future<Output = Response> + Send + use<F, Answer, Answered, S, Way, $($part,)* $last> + 'static {
                let handler = self.clone();
                let (mut parts, body) = request.into_parts();
                async move {
                    $(
                        let $part = match $part::from_request_parts(&mut parts, &state).await {
                            Ok(part) => part,
                            Err(refusal) => return refusal.into_response(),
                        };
                    )*
                    let $last = match $last::from_request(Request::from_parts(parts, body), &state).await {
                        Ok(last) => last,
                        Err(refusal) => return refusal.into_response(),
                    };
                    handler($($part,)* $last).await.into_response()
                }
            }
        }
    };
}

direct!(A; B);
direct!(A, B; C);
direct!(A, B, C; D);
