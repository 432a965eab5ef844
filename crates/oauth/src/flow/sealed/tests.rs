use async_trait::async_trait;
use parking_lot::Mutex;
use sluice_primitives::{ManualClock, NetworkId, OsRng, Secret, SessionId, Timestamp};

use super::*;
use crate::client::fake::client;
use crate::client::{AuthMethod, Client};
use crate::flow::ParkedFlow;
use crate::flow::fake::request;
use crate::flow::state::Login;

#[derive(Default)]
struct Shelf(Mutex<Vec<ParkedFlow>>);

#[async_trait]
impl ParkedFlowRepository for Shelf {
    async fn park(&self, flow: ParkedFlow, quota: u64) -> Result<bool, StoreError> {
        let mut shelf = self.0.lock();
        let has_room = u64::try_from(shelf.len()).unwrap() < quota;
        if has_room {
            shelf.push(flow);
        }
        Ok(has_room)
    }

    async fn fetch(&self, handle: ParkedHandle, now: Timestamp) -> Result<Option<String>, StoreError> {
        let shelf = self.0.lock();
        let found = shelf.iter().find(|flow| flow.handle == handle && now < flow.expires_at);
        Ok(found.map(|flow| flow.sealed.clone()))
    }

    async fn purge_expired(&self, _: Timestamp, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }
}

struct Given {
    flows: FlowSealer,
    clock: Arc<ManualClock>,
    shelf: Arc<Shelf>,
}

const OF_NETWORK: u32 = 20;

fn given() -> Given {
    with_quota(100_000)
}

fn with_quota(quota: u64) -> Given {
    let secret = Secret::new(b"a secret of tests".to_vec());
    let sealer = Arc::new(Sealer::new(NetworkId::from_bytes([1; 16]), &[secret]));
    let clock = Arc::new(ManualClock::at(Timestamp::from_secs(1_800_000_000)));
    let shelf = Arc::new(Shelf::default());
    let sources = (Arc::new(OsRng) as _, Arc::clone(&clock) as _);
    let flows = FlowSealer::new(sealer, Arc::clone(&shelf) as _, sources, Lifetime::minutes(30), quota);
    let exempt = vec!["127.0.0.0/8".parse().unwrap(), "::/64".parse().unwrap()];
    let flows = flows.with_policy(&LongRequestPolicy { per_network: Some(OF_NETWORK), exempt });
    Given { flows, clock, shelf }
}

fn asking(parameters: &[(&str, &str)], id_token_hint: Option<String>) -> AwaitingLogin {
    let mut request = request();
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    request.details.further = Further { parameters: parameters.collect(), id_token_hint };
    AwaitingLogin { request, known: None, session: SessionId::from_bytes([4; 16]) }
}

#[tokio::test]
async fn a_flow_of_the_version_before_is_opened() {
    let Given { flows, .. } = given();
    let flow = asking(&[], None);
    let later = WireKnown::new(flow.session, None);
    let before = (&WireRequest::from(&flow.request), &later);
    let challenge = flows.seal_bytes(Purpose::LoginChallenge, Place::Inline, &before);
    assert_eq!(flows.open_login_challenge(&challenge).await.unwrap(), flow);
    let handle = flows.park(&postcard::to_stdvec(before.0).unwrap(), Timestamp::NEVER, 1).await.unwrap();
    let challenge = flows.seal_bytes(Purpose::LoginChallenge, Place::RequestParked, &(handle, &later));
    let opened = flows.open_login_challenge(&challenge).await.unwrap();
    assert_eq!(opened.request, Request { parked: Some(handle), ..flow.request });
}

#[tokio::test]
async fn a_hint_is_kept_where_it_fits_into_the_url_and_in_no_store() {
    let Given { flows, shelf, .. } = given();
    for (length, fits) in [(500, true), (1_100, true), (3_000, false)] {
        let hint = "h".repeat(length);
        let flow = asking(&[("tenant", "acme")], Some(hint.clone()));
        let challenge = flows.seal_login_challenge(&flow, (true, None)).await.unwrap();
        assert!(challenge.len() <= MAX_IN_URL && shelf.0.lock().is_empty(), "{length}");
        let further = flows.open_login_challenge(&challenge).await.unwrap().request.details.further;
        assert_eq!(further.parameters, flow.request.details.further.parameters);
        assert_eq!(further.id_token_hint, Some(hint).filter(|_| fits));
    }
    let mut flow = asking(&[("tenant", "acme")], Some("hint".to_owned()));
    flow.request.state = Some("s".repeat(2_000));
    let challenge = flows.seal_login_challenge(&flow, (true, None)).await.unwrap();
    assert_eq!(shelf.0.lock().len(), 1);
    let further = flows.open_login_challenge(&challenge).await.unwrap().request.details.further;
    assert_eq!(further, Further { id_token_hint: None, ..flow.request.details.further });
}

fn logged_in(session: SessionId, context: String) -> Login {
    Login {
        subject: "alice".parse().unwrap(),
        session,
        authenticated_at: Timestamp::from_secs(1),
        skipped: false,
        kept: false,
        remember: None,
        forget: false,
        at_least_until_closed: false,
        until_closed: false,
        extend: false,
        acr: None,
        amr: Vec::new(),
        context: Some(context.into()),
        forced_subject: None,
        provider_session: None,
    }
}

#[tokio::test]
async fn what_only_pages_are_shown_takes_what_room_there_is_and_parks_no_flow() {
    let Given { flows, shelf, .. } = given();
    let long = "x".repeat(600);
    let flow = asking(&["first", "second", "third"].map(|name| (name, long.as_str())), None);
    let challenge = flows.seal_login_challenge(&flow, (true, None)).await.unwrap();
    assert!(challenge.len() <= MAX_IN_URL - LATER_LEGS, "{}", challenge.len());
    let request = flows.open_login_challenge(&challenge).await.unwrap().request;
    let kept: Vec<_> = request.details.further.parameters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(kept, ["first"]);
    let login = logged_in(flow.session, "c".repeat(600));
    let consent = AwaitingConsent { request, login, skip: false };
    let challenge = flows.seal_consent_challenge(&consent).await.unwrap();
    let request = flows.open_consent_challenge(&challenge).await.unwrap().request;
    assert_eq!(request.details.further, Further::default());
    assert!(shelf.0.lock().is_empty());
}

#[tokio::test]
async fn a_network_that_has_parked_enough_parks_no_more() {
    let Given { flows, shelf, .. } = given();
    let network = Some(IpAddr::from([192, 0, 2, 1]));
    let mut flow = asking(&[("tenant", "acme")], None);
    flow.request.state = Some("s".repeat(2_000));
    for _ in 0..OF_NETWORK {
        flows.seal_login_challenge(&flow, (true, network)).await.unwrap();
    }
    assert_eq!(shelf.0.lock().len(), OF_NETWORK as usize);
    let refused = flows.seal_login_challenge(&flow, (true, network)).await;
    assert!(matches!(refused, Err(FlowError::QuotaReached(Quota::Network))));
}

#[tokio::test]
async fn networks_that_are_exempt_are_not_counted_whoever_asks() {
    let Given { flows, clock, shelf } = given();
    let mut flow = asking(&[], None);
    flow.request.state = Some("s".repeat(2_000));
    let (long, until) = ("x".repeat(2_000), clock.now() + Lifetime::secs(60));
    let public = Client { auth_method: AuthMethod::None, ..client("public") };
    for here in ["127.0.0.1", "::ffff:127.0.0.1", "::1"] {
        let here = Some(here.parse().unwrap());
        for _ in 0..=OF_NETWORK {
            flows.seal_login_challenge(&flow, (true, here)).await.unwrap();
            flows.seal_pushed(&long, (&public, here), until).await.unwrap();
        }
    }
    assert_eq!(shelf.0.lock().len(), 6 * (OF_NETWORK as usize + 1));
}

#[tokio::test]
async fn those_of_whom_nobody_knows_where_they_are_count_as_one_network() {
    let Given { flows, shelf, .. } = given();
    let mut flow = asking(&[], None);
    flow.request.state = Some("s".repeat(2_000));
    for _ in 0..OF_NETWORK {
        flows.seal_login_challenge(&flow, (true, None)).await.unwrap();
    }
    let refused = flows.seal_login_challenge(&flow, (true, None)).await;
    assert!(matches!(refused, Err(FlowError::QuotaReached(Quota::Network))));
    for other in ["127.0.0.1", "192.0.2.1"] {
        flows.seal_login_challenge(&flow, (true, Some(other.parse().unwrap()))).await.unwrap();
    }
    assert_eq!(shelf.0.lock().len(), OF_NETWORK as usize + 2);
}

/// How many of these addresses may begin a long flow.
async fn begun(flows: &FlowSealer, addresses: impl IntoIterator<Item = IpAddr>) -> usize {
    let mut flow = asking(&[], None);
    flow.request.state = Some("s".repeat(2_000));
    let mut begun = 0;
    for address in addresses {
        match flows.seal_login_challenge(&flow, (true, Some(address))).await {
            Ok(_) => begun += 1,
            Err(refused) => assert!(matches!(refused, FlowError::QuotaReached(Quota::Share(_))), "{refused}"),
        }
    }
    begun
}

#[tokio::test]
async fn a_site_leaves_room_for_others_however_long_it_tries() {
    let Given { flows, clock, shelf } = with_quota(640);
    let site = 0x2001_0db8_0001_u128 << 80;
    let network = |network: u128| IpAddr::from(std::net::Ipv6Addr::from_bits(site + (network << 64) + 1));
    let alone = IpAddr::from([192, 0, 2, 1]);
    let (mut of_site, mut of_alone) = (0, 0);
    for _ in 0..9 {
        let networks = (0..16).flat_map(|number| [network(number); OF_NETWORK as usize]);
        of_site += begun(&flows, networks).await;
        of_alone += begun(&flows, [alone; OF_NETWORK as usize]).await;
        clock.advance(Lifetime::minutes(10));
    }
    assert_eq!((of_site, of_alone), (80, 40), "an eighth and a sixteenth");
    assert_eq!(shelf.0.lock().len(), 120);
    let others: [IpAddr; 2] = ["2001:db8:2::1", "198.51.100.1"].map(|other| other.parse().unwrap());
    assert_eq!(begun(&flows, others).await, 2);
    clock.advance(Lifetime::minutes(30));
    assert_eq!(begun(&flows, [network(1), alone]).await, 2, "the first of them are over");
}

#[tokio::test]
async fn those_who_are_exempt_leave_room_for_others() {
    let Given { flows, clock, shelf } = with_quota(640);
    let (long, until) = ("x".repeat(2_000), clock.now() + Lifetime::secs(60));
    let public = Client { auth_method: AuthMethod::None, ..client("public") };
    let here: [IpAddr; 3] = ["127.0.0.1", "::1", "127.9.9.9"].map(|here| here.parse().unwrap());
    assert_eq!(begun(&flows, here.into_iter().cycle().take(640)).await, 240, "half of what anybody may have");
    assert_eq!(begun(&flows, [[192, 0, 2, 1].into()]).await, 1);
    for address in [here[0], [192, 0, 2, 1].into()] {
        flows.seal_pushed(&long, (&public, Some(address)), until).await.unwrap();
    }
    assert_eq!(shelf.0.lock().len(), 243);
    let mut pushed = 0;
    while flows.seal_pushed(&long, (&public, Some(here[0])), until).await.is_ok() {
        pushed += 1;
    }
    assert_eq!((pushed, begun(&flows, [[192, 0, 2, 2].into()]).await), (157, 1), "400 with what there was");
}

#[tokio::test]
async fn what_is_pushed_takes_nothing_of_the_share_of_its_network() {
    let Given { flows, clock, shelf } = with_quota(640);
    let public = Client { auth_method: AuthMethod::None, ..client("public") };
    let (long, here) = ("x".repeat(2_000), IpAddr::from([192, 0, 2, 1]));
    for _ in 0..2 {
        assert_eq!(begun(&flows, [here; OF_NETWORK as usize]).await, OF_NETWORK as usize);
        clock.advance(PARKED_WINDOW);
    }
    let mut flow = asking(&[], None);
    flow.request.state = Some("s".repeat(2_000));
    let refused = flows.seal_login_challenge(&flow, (true, Some(here))).await;
    let Err(FlowError::QuotaReached(full)) = refused else { panic!("it has its share") };
    assert!(matches!(full, Quota::Share(part) if part == full.wait() && part > PARKED_WINDOW), "{full:?}");
    let until = clock.now() + Lifetime::secs(60);
    for _ in 0..OF_NETWORK {
        flows.seal_pushed(&long, (&public, Some(here)), until).await.unwrap();
    }
    let refused = flows.seal_pushed(&long, (&public, Some(here)), until).await;
    assert!(matches!(refused, Err(FlowError::QuotaReached(Quota::Network))));
    assert_eq!(shelf.0.lock().len(), 3 * OF_NETWORK as usize);
}

#[tokio::test]
async fn strangers_leave_room_for_clients_that_authenticate_and_for_flows_under_way() {
    let Given { flows, clock, shelf } = with_quota(8);
    let mut flow = asking(&[], None);
    flow.request.state = Some("s".repeat(2_000));
    for last in 0..6_u8 {
        flows.seal_login_challenge(&flow, (true, Some([192, 0, 2, last].into()))).await.unwrap();
    }
    for address in [Some([192, 0, 2, 7].into()), None] {
        let refused = flows.seal_login_challenge(&flow, (false, address)).await;
        assert!(matches!(refused, Err(FlowError::QuotaReached(Quota::All))));
    }
    let (long, until) = ("x".repeat(2_000), clock.now() + Lifetime::secs(60));
    let public = Client { auth_method: AuthMethod::None, ..client("public") };
    let refused = flows.seal_pushed(&long, (&public, None), until).await;
    assert!(matches!(refused, Err(FlowError::QuotaReached(Quota::All))));
    flows.seal_pushed(&long, (&client("app"), None), until).await.unwrap();
    // Pushed while it was short, and not counted then.
    flow.request.details.pushed = true;
    let refused = flows.seal_login_challenge(&flow, (true, Some([192, 0, 2, 8].into()))).await;
    assert!(matches!(refused, Err(FlowError::QuotaReached(Quota::All))));
    flows.seal_login_challenge(&flow, (false, Some([192, 0, 2, 8].into()))).await.unwrap();
    assert_eq!(shelf.0.lock().len(), 8);
}

#[tokio::test]
async fn a_pushed_request_is_parked_for_no_longer_than_its_uri_is_good() {
    let Given { flows, clock, shelf } = given();
    let (app, long, until) = (client("app"), "x".repeat(2_000), clock.now() + Lifetime::secs(60));
    let uri = flows.seal_pushed(&long, (&app, None), until).await.unwrap();
    assert_eq!(shelf.0.lock().iter().map(|flow| flow.expires_at).collect::<Vec<_>>(), [until]);
    assert_eq!(flows.open_pushed::<String>(&uri).await.unwrap(), long);
    clock.advance(Lifetime::secs(60));
    assert!(matches!(flows.open_pushed::<String>(&uri).await, Err(FlowError::Gone)));
}

#[tokio::test]
async fn no_client_fills_the_quota_of_all() {
    let Given { flows, clock, shelf } = given();
    let (app, long, until) = (client("app"), "x".repeat(2_000), clock.now() + Lifetime::secs(60));
    for last in 0..MOST_OF_CLIENT {
        let address = Some(std::net::Ipv4Addr::from_bits(last).into());
        flows.seal_pushed(&long, (&app, address), until).await.unwrap();
    }
    let refused = flows.seal_pushed(&long, (&app, None), until).await;
    assert!(matches!(refused, Err(FlowError::QuotaReached(Quota::Client))));
    let public = Client { auth_method: AuthMethod::None, ..client("public") };
    for _ in 0..OF_NETWORK {
        flows.seal_pushed(&long, (&public, None), until).await.unwrap();
    }
    let refused = flows.seal_pushed(&long, (&public, None), until).await;
    assert!(matches!(refused, Err(FlowError::QuotaReached(Quota::Network))));
    flows.seal_pushed(&"short", (&app, None), until).await.unwrap();
    flows.seal_pushed(&long, (&client("other"), None), until).await.unwrap();
    assert_eq!(shelf.0.lock().len(), (MOST_OF_CLIENT + OF_NETWORK) as usize + 1);
    clock.advance(PARKED_WINDOW);
    flows.seal_pushed(&long, (&app, None), until).await.unwrap();
}
