//! A flow ⇄ URL parameter: what is sealed opens to the same value, whether it fits into a URL or has to be parked.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sluice_commit::StoreError;
use sluice_crypto::Sealer;
use sluice_oauth::flow::{
    AwaitingConsent, AwaitingLogin, Consent, ConsentAnswered, Decision, FlowSealer, Further, KnownSession,
    Login, LoginAnswered, ParkedFlow, ParkedFlowRepository, ParkedHandle, Rejection, Request, RequestDetails,
};
use sluice_primitives::{GrantId, Lifetime, ManualClock, NetworkId, OsRng, Secret, SessionId, Timestamp};
use sluice_protocol::{Audience, CodeChallenge, Prompt, ResponseMode, ResponseType};

#[derive(Default)]
struct Shelf(Mutex<Vec<ParkedFlow>>);

#[async_trait]
impl ParkedFlowRepository for Shelf {
    async fn park(&self, flow: ParkedFlow, _: u64) -> Result<bool, StoreError> {
        self.0.lock().push(flow);
        Ok(true)
    }

    async fn fetch(&self, handle: ParkedHandle, _: Timestamp) -> Result<Option<String>, StoreError> {
        Ok(self.0.lock().iter().find(|flow| flow.handle == handle).map(|flow| flow.sealed.clone()))
    }

    async fn purge_expired(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}

fn flows() -> FlowSealer {
    let sealer = Sealer::new(NetworkId::from_bytes([1; 16]), &[Secret::new(b"a secret of tests".to_vec())]);
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_800_000_000)));
    let sources = (Arc::new(OsRng) as _, clock as _);
    FlowSealer::new(Arc::new(sealer), Arc::new(Shelf::default()), sources, Lifetime::minutes(30), 10)
}

fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn id() -> impl Strategy<Value = [u8; 16]> {
    any::<[u8; 16]>()
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..4_102_444_800_000_i64).prop_map(Timestamp::from_millis)
}

/// A name that is a UUID in its usual spelling, in another one, or none.
fn name() -> impl Strategy<Value = String> {
    let uuid = any::<[u8; 16]>().prop_map(|bytes| uuid::Uuid::from_bytes(bytes).hyphenated().to_string());
    prop_oneof![uuid.clone(), uuid.prop_map(|uuid| uuid.to_uppercase()), "[!-~]{1,255}", "[a-z]{1,12}"]
}

fn scope() -> impl Strategy<Value = String> {
    vec("[!#-\\[\\]-~]{1,12}", 0..6).prop_map(|values| values.join(" "))
}

fn text(longest: usize) -> impl Strategy<Value = Option<String>> {
    of(prop_oneof!["[ -~]{0,40}", vec(any::<char>(), 0..longest / 4).prop_map(String::from_iter)])
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        ".{0,30}".prop_map(Value::from),
        Just(json!({"a": [1, null, true]}))
    ]
}

fn claims() -> impl Strategy<Value = Map<String, Value>> {
    vec(("[a-z]{1,8}", value()), 0..4).prop_map(Map::from_iter)
}

fn span() -> impl Strategy<Value = Option<Lifetime>> {
    of(prop_oneof![Just(Lifetime::FOREVER), (1..u32::MAX).prop_map(Lifetime::secs)])
}

prop_compose! {
    fn further()(
        parameters in vec((".{0,20}", ".{0,60}"), 0..6),
        id_token_hint in of("[A-Za-z0-9_.-]{0,900}"),
    ) -> Further {
        Further { parameters, id_token_hint }
    }
}

prop_compose! {
    fn details()(
        (claims, authorization_details) in (text(300), text(300)),
        (dpop_jkt, pushed, signed, device) in (of(any::<[u8; 32]>()), any::<bool>(), any::<bool>(), any::<bool>()),
        further in further(),
    ) -> RequestDetails {
        RequestDetails { claims, authorization_details, dpop_jkt, pushed, signed, device, further }
    }
}

prop_compose! {
    fn request()(
        (flow, client, client_revision) in (id(), name(), any::<i64>()),
        (path, redirect_uri_named) in ("[a-zA-Z0-9/?=&.-]{0,60}", any::<bool>()),
        (code, token, id_token, mode) in (any::<bool>(), any::<bool>(), any::<bool>(), 0..6_usize),
        (scope, audience) in (scope(), vec("[!-~]{1,30}", 0..3)),
        (state, nonce, code_challenge) in (text(2048), text(1024), of(any::<[u8; 32]>())),
        (prompt, max_age) in (0..32_u8, of(any::<u32>())),
        (login_hint, acr_values, ui_locales, display) in (text(1024), text(60), text(60), text(60)),
        (hinted_subject, requested_at, binding) in (of(name()), time(), id()),
        details in details(),
    ) -> Request {
        Request {
            flow: GrantId::from_bytes(flow),
            client: client.parse().unwrap(),
            client_revision,
            redirect_uri: format!("https://app.example/{path}").parse().unwrap(),
            redirect_uri_named,
            response_type: ResponseType { code, token, id_token },
            response_mode: ResponseMode::ALL[mode],
            scope: scope.parse().unwrap(),
            audience: Audience::from_values(audience),
            state,
            nonce,
            code_challenge: code_challenge.map(CodeChallenge::from_bytes),
            prompt: Prompt::from_bits(prompt),
            max_age,
            login_hint,
            acr_values,
            ui_locales,
            display,
            hinted_subject: hinted_subject.map(|subject| subject.parse().unwrap()),
            details,
            requested_at,
            binding,
            parked: None,
        }
    }
}

prop_compose! {
    fn login()(
        (subject, session, authenticated_at) in (name(), id(), time()),
        (skipped, kept, extend, until_closed, remember) in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), span()),
        (forget, at_least_until_closed) in (any::<bool>(), any::<bool>()),
        (acr, amr, context) in (text(60), vec("[a-z]{1,5}", 0..4), of(value())),
        (forced_subject, provider_session) in (text(255), text(255)),
    ) -> Login {
        let session = SessionId::from_bytes(session);
        let subject = subject.parse().unwrap();
        Login { subject, session, authenticated_at, skipped, kept, remember, forget, at_least_until_closed, until_closed, extend, acr, amr, context, forced_subject, provider_session }
    }
}

prop_compose! {
    fn consent()(
        (scope, audience, remember) in (scope(), vec("[!-~]{1,30}", 0..3), span()),
        (id_token, access_token, context, accepted_at) in (claims(), claims(), of(value()), time()),
        authorization_details in of(value()),
    ) -> Consent {
        let (scope, audience) = (scope.parse().unwrap(), Audience::from_values(audience));
        Consent { scope, audience, remember, id_token, access_token, context, authorization_details, accepted_at }
    }
}

fn decision<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Decision<T>> {
    let rejected = (".{0,20}", ".{0,40}").prop_map(|(error, description)| Rejection { error, description });
    prop_oneof![of.prop_map(Decision::Accepted), rejected.prop_map(Decision::Rejected)]
}

/// What a request is expected to be once it was sealed. Where it is kept is not part of what it says, and a hint and the last
/// of the parameters that only pages are shown may be left out, but nothing else.
fn sealed(request: &Request, opened: &Request) -> Request {
    let mut expected = Request { parked: opened.parked, ..request.clone() };
    if opened.details.further.id_token_hint.is_none() {
        expected.details.further.id_token_hint = None;
    }
    expected.details.further.parameters.truncate(opened.details.further.parameters.len());
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_flow_that_awaits_login_survives(request in request(), session in id(), known in of((name(), time(), vec("[a-z]{1,5}", 0..4)))) {
        let known = known.map(|(subject, authenticated_at, amr)| KnownSession {
            id: SessionId::from_bytes(session),
            subject: subject.parse().unwrap(),
            authenticated_at,
            amr,
        });
        let (flow, flows) = (AwaitingLogin { request, known, session: SessionId::from_bytes(session) }, flows());
        let challenge = now(flows.seal_login_challenge(&flow, (true, None))).unwrap();
        let opened = now(flows.open_login_challenge(&challenge)).unwrap();
        let request = sealed(&flow.request, &opened.request);
        prop_assert_eq!(opened, AwaitingLogin { request, ..flow });
    }

    #[test]
    fn a_flow_on_its_way_back_from_login_survives(request in request(), answer in decision(login())) {
        let (flow, flows) = (LoginAnswered { request, answer }, flows());
        let verifier = now(flows.seal_login_verifier(&flow)).unwrap();
        let opened = now(flows.open_login_verifier(&verifier)).unwrap();
        let request = sealed(&flow.request, &opened.request);
        prop_assert_eq!(opened, LoginAnswered { request, ..flow });
    }

    #[test]
    fn a_flow_that_awaits_consent_survives(request in request(), login in login(), skip: bool) {
        let (flow, flows) = (AwaitingConsent { request, login, skip }, flows());
        let challenge = now(flows.seal_consent_challenge(&flow)).unwrap();
        let opened = now(flows.open_consent_challenge(&challenge)).unwrap();
        let request = sealed(&flow.request, &opened.request);
        prop_assert_eq!(opened, AwaitingConsent { request, ..flow });
    }

    #[test]
    fn a_flow_on_its_way_back_from_consent_survives(request in request(), login in login(), skip: bool, answer in decision(consent())) {
        let (flow, flows) = (ConsentAnswered { request, login, skip, answer }, flows());
        let verifier = now(flows.seal_consent_verifier(&flow)).unwrap();
        let opened = now(flows.open_consent_verifier(&verifier)).unwrap();
        let request = sealed(&flow.request, &opened.request);
        prop_assert_eq!(opened, ConsentAnswered { request, ..flow });
    }
}
