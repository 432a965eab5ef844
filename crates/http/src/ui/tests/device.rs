//! Devices.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use sluice_oauth::client::{AuthMethod, Client, ClientRepository};
use sluice_oauth::device::{DeviceChallenge, DeviceCode, DevicePoll, UserCode};
use sluice_primitives::{GrantId, Lifetime, OsRng};
use sluice_protocol::ClientId;
use sluice_store_contract::given;

use super::world::{World, form, user_codes};

pub(super) const CODE: &str = "WDJB-MJHT";

impl World {
    /// A device that shows [`CODE`].
    pub(super) async fn device(&self) -> GrantId {
        self.device_of(given::client_id("shop")).await
    }

    async fn device_of(&self, client: ClientId) -> GrantId {
        let id = GrantId::generate(self.now(), &OsRng);
        let code = DeviceCode {
            id,
            user_code: user_codes().hash(&UserCode::typed(CODE).unwrap()),
            client,
            sealed: "not opened here".to_owned(),
            created_at: self.now(),
            expires_at: self.now() + Lifetime::minutes(10),
        };
        assert!(self.ui.devices.devices.insert(code, self.now()).await.unwrap());
        id
    }

    /// The address of the page, for the browser that the flows are bound to.
    pub(super) fn at_device(&self) -> String {
        let id = GrantId::generate(self.now(), &OsRng);
        let challenge = DeviceChallenge {
            id,
            binding: self.key.bind(id),
            asked_by: Some("192.0.2.1".parse().unwrap()),
            issued_at: self.now(),
        };
        format!("/ui/device?device_challenge={}", challenge.seal(&self.sealer, &OsRng))
    }

    async fn poll(&self, device: GrantId) -> DevicePoll {
        self.ui.devices.devices.poll(device, self.now(), Lifetime::secs(5)).await.unwrap()
    }
}

/// A client whose consent page may be skipped: by what was allowed before, or altogether.
#[tokio::test]
async fn a_typed_code_is_shown_with_the_application_and_must_be_confirmed() {
    let skips =
        Client { auth_method: AuthMethod::None, skip_consent: true, ..given::client("television", "") };
    for of_shop in [true, false] {
        let world = World::new().await;
        world.store.insert(&skips).await.unwrap();
        let client = if of_shop { given::client_id("shop") } else { skips.id.clone() };
        world.device_of(client).await;
        let page = world.at_device();
        let shown = world.fill_in(&page, &[("user_code", "wdjb mjht")]).await;
        let name = if of_shop { "&#60;b&#62;Shop" } else { "The television" };
        for part in [name, ">WDJB-MJHT<", "Is this your device?"] {
            assert!(shown.body.contains(part), "{part}: {}", shown.body);
        }
        assert!(shown.status == StatusCode::OK && shown.header("refresh").is_empty());
        let fields = ["device_challenge", "csrf", "user_code"].map(|name| (name, shown.field(name)));
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        let taken = world.post("/ui/device", &[&fields[..], &[("decision", "accept")]].concat()).await;
        assert!(!taken.sent_with("device_verifier").is_empty());
    }
}

/// The consent page names it, whatever was allowed before.
#[tokio::test]
async fn a_typed_code_of_a_public_client_is_not_confirmed_twice() {
    let public = Client { auth_method: AuthMethod::None, ..given::client("television", "") };
    for is_own_page in [true, false] {
        let world = World::with("https://id.example/", |pages| {
            if !is_own_page {
                pages.consent = "https://login.example/consent".parse().unwrap();
            }
        })
        .await;
        world.store.insert(&public).await.unwrap();
        world.device_of(public.id.clone()).await;
        let answer = world.fill_in(&world.at_device(), &[("user_code", CODE)]).await;
        if is_own_page {
            assert!(!answer.sent_with("device_verifier").is_empty());
        } else {
            assert!(answer.body.contains("Is this your device?"), "{}", answer.body);
        }
    }
}

#[tokio::test]
async fn a_wrong_code_and_none_are_asked_for_again() {
    let world = World::new().await;
    world.device().await;
    let page = world.at_device();
    let wrong = world.fill_in(&page, &[("user_code", "WDJB-MJHX")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.body.contains("This code is not right"), "{}", wrong.body);
    assert_eq!(wrong.field("user_code\" type=\"text"), "WDJB-MJHX", "what was typed is kept");
    let none = world.fill_in(&page, &[]).await;
    assert_eq!(none.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(none.body.contains("Enter the code"), "{}", none.body);
}

#[tokio::test]
async fn a_code_that_came_along_is_shown_with_the_application_and_must_be_confirmed() {
    let world = World::new().await;
    world.device().await;
    let page = world.at_device();
    let shown = world.get(&format!("{page}&user_code=wdjbmjht")).await;
    assert_eq!(shown.status, StatusCode::OK);
    for part in ["&#60;b&#62;Shop", ">WDJB-MJHT<", "Is this your device?"] {
        assert!(shown.body.contains(part), "{part}: {}", shown.body);
    }
    assert_eq!(shown.header("x-frame-options"), "DENY");
    let taken =
        world.fill_in(&page, &[("user_code", &shown.field("user_code")), ("decision", "accept")]).await;
    assert!(!taken.sent_with("device_verifier").is_empty());
}

#[tokio::test]
async fn of_a_client_that_describes_itself_the_host_is_shown_too() {
    let world = World::new().await;
    world.device_of(world.described_client().await).await;
    let shown = world.get(&format!("{}&user_code={CODE}", world.at_device())).await;
    for part in [">Your bank<", "it comes from <strong><bdi>app.example</bdi>"] {
        assert!(shown.body.contains(part), "{part}: {}", shown.body);
    }
    let of_shop = World::new().await;
    of_shop.device().await;
    let shown = of_shop.get(&format!("{}&user_code={CODE}", of_shop.at_device())).await;
    assert!(!shown.body.contains("it comes from"), "{}", shown.body);
}

#[tokio::test]
async fn of_a_client_that_registered_itself_that_is_said() {
    let world = World::new().await;
    world.device_of(world.stranger("", "").await).await;
    let shown = world.get(&format!("{}&user_code={CODE}", world.at_device())).await;
    assert!(shown.body.contains("Whatever it calls itself: it registered itself.</p>"), "{}", shown.body);
}

#[tokio::test]
async fn who_does_not_know_the_device_refuses_and_the_device_is_told() {
    let world = World::new().await;
    let device = world.device().await;
    assert_eq!(world.poll(device).await, DevicePoll::Pending);
    let refused = world.fill_in(&world.at_device(), &[("user_code", CODE), ("decision", "reject")]).await;
    assert_eq!(refused.status, StatusCode::OK);
    assert!(refused.body.contains("Your device is not connected"), "{}", refused.body);
    assert_eq!(world.poll(device).await, DevicePoll::Denied);
}

#[tokio::test]
async fn with_too_many_wrong_codes_the_right_one_does_not_count_for_a_while() {
    let world = World::new().await;
    world.device().await;
    let page = world.at_device();
    for guess in 0..20 {
        let wrong = world.fill_in(&page, &[("user_code", &format!("AAAA-{guess:04}"))]).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    }
    let late = world.fill_in(&page, &[("user_code", CODE)]).await;
    assert_eq!(late.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(late.header("retry-after"), "600");
    let told = "There were too many wrong codes. Please wait 10 minutes and try again.";
    assert!(late.body.contains(told), "{}", late.body);
}

#[tokio::test]
async fn another_browser_cannot_type_a_code_and_no_other_site_can_post_one() {
    let world = World::new().await;
    world.device().await;
    let page = world.at_device();
    let shown = world.send_without_cookie(Request::get(&page).body(Body::empty()).unwrap()).await;
    assert_eq!(shown.status, StatusCode::BAD_REQUEST);
    let challenge = page.split_once('=').unwrap().1;
    let forged =
        world.send(form("/ui/device", &[("device_challenge", challenge), ("user_code", CODE)])).await;
    assert_eq!(forged.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_page_that_was_open_for_too_long_leads_back_to_the_beginning() {
    let world = World::new().await;
    let page = world.at_device();
    world.clock.advance(Lifetime::minutes(31));
    let late = world.get(&page).await;
    assert_eq!(late.status, StatusCode::GONE);
    assert!(late.body.contains("https://id.example/oauth2/device/verify"), "{}", late.body);
}

#[tokio::test]
async fn who_types_the_address_of_the_page_is_led_to_the_beginning() {
    let world = World::new().await;
    let led = world.get("/ui/device?user_code=WDJB-MJHT").await;
    assert_eq!(led.status, StatusCode::SEE_OTHER);
    assert_eq!(led.header("location"), "/oauth2/device/verify?user_code=WDJB-MJHT");
}

#[tokio::test]
async fn the_end_says_which_it_was_and_no_word_of_its_query() {
    let world = World::new().await;
    let connected = world.get("/ui/device/success").await;
    assert!(connected.body.contains("Your device is connected"), "{}", connected.body);
    let denied = world.get("/ui/device/success?error=access_denied&error_description=Call+us").await;
    assert!(denied.body.contains("not connected") && !denied.body.contains("Call us"), "{}", denied.body);
}

#[tokio::test]
async fn with_a_verification_page_elsewhere_ours_is_not_there() {
    let page = "https://login.example/device".parse().unwrap();
    let world = World::with("https://id.example/", |pages| pages.device_verification = page).await;
    assert_eq!(world.get("/ui/device").await.status, StatusCode::NOT_FOUND);
}
