//! A look of one's own.

use axum::http::StatusCode;
use sluice_oauth::config::{Look, PageFile, PageLink, Pages};

use super::world::World;

const THEME: &str = ":root { --accent: #123456 }";
const LOGO: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";

fn own_look(pages: &mut Pages) {
    pages.service_name = "Example Shop".to_owned();
    pages.look = Look {
        stylesheet: Some(PageFile::new("text/css; charset=utf-8", THEME.as_bytes())),
        logo: Some(PageFile::new("image/svg+xml", LOGO.as_bytes())),
        links: vec![
            PageLink { label: "Help", url: "mailto:help@example.com".to_owned() },
            PageLink { label: "Privacy", url: "https://example.com/privacy?a=1&b=2".to_owned() },
        ],
        ..Look::default()
    };
}

/// Some of each kind: with a form, for devices, at the end of a flow, and of what went wrong.
async fn pages_of(world: &World) -> [String; 5] {
    let others = ["/ui/device/success", "/ui/logged-out", "/ui/error?error=access_denied"].map(str::to_owned);
    let [device, logged_out, error] = others;
    [world.at("/ui/login").await, world.at_device(), device, logged_out, error]
}

#[tokio::test]
async fn every_page_has_the_style_sheet_and_the_logo_that_it_is_given_under_the_same_policy() {
    let world = World::with("https://id.example/", own_look).await;
    for page in pages_of(&world).await {
        let shown = world.get(&page).await;
        let place = |text: &str| shown.body.find(text).unwrap_or_else(|| panic!("{text}: {}", shown.body));
        let theme = place("<link rel=\"stylesheet\" href=\"/ui/theme.css?v=");
        assert!(place("<link rel=\"stylesheet\" href=\"/ui/style.css?v=") < theme, "the last one counts");
        place("<img class=\"logo\" src=\"/ui/logo?v=");
        place("alt=\"Example Shop\">");
        place("<span class=\"wordmark\" aria-hidden=\"true\">Example Shop</span>");
        assert!(!shown.body.contains("class=\"mark\""), "{page}");
        let policy = shown.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; img-src 'self';"), "{policy}");
    }
}

#[tokio::test]
async fn a_look_of_ones_own_is_kept_for_good_under_the_names_of_its_contents() {
    let world = World::with("https://id.example/", own_look).await;
    let shown = world.get("/ui/logged-out").await;
    let theme_version = shown.after("href=\"/ui/theme.css?v=");
    let theme = world.get(&format!("/ui/theme.css?v={theme_version}")).await;
    assert_eq!((theme.header("content-type"), theme.body.as_str()), ("text/css; charset=utf-8", THEME));
    let logo = world.get(&shown.after("<img class=\"logo\" src=\"")).await;
    assert_eq!((logo.header("content-type"), logo.body.as_str()), ("image/svg+xml", LOGO));
    for (file, path) in [(theme, "/ui/theme.css"), (logo, "/ui/logo")] {
        assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        for other in [path.to_owned(), format!("{path}?v=0")] {
            assert_eq!(world.get(&other).await.header("cache-control"), "no-cache", "{other}");
        }
    }
}

#[tokio::test]
async fn a_logo_that_is_opened_by_itself_runs_nothing() {
    let world = World::with("https://id.example/", own_look).await;
    let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
    assert_eq!(world.get("/ui/logo").await.header("content-security-policy"), policy);
}

#[tokio::test]
async fn every_page_links_to_what_it_is_told_to() {
    let world = World::with("https://id.example/", own_look).await;
    for page in pages_of(&world).await {
        let shown = world.get(&page).await.body;
        let footer =
            shown.split_once("<footer class=\"foot\">").unwrap().1.split("</footer>").next().unwrap();
        assert!(footer.contains("<nav aria-label=\"About this service\">"), "{footer}");
        assert!(footer.contains("<a href=\"mailto:help@example.com\">Help</a>"), "{footer}");
        let privacy = "<a href=\"https://example.com/privacy?a=1&#38;b=2\" target=\"_blank\" rel=\"noopener noreferrer\">Privacy<";
        assert!(footer.contains(privacy), "{footer}");
    }
}

#[tokio::test]
async fn without_a_look_of_ones_own_pages_look_as_they_are_built() {
    let world = World::new().await;
    for path in ["/ui/theme.css", "/ui/logo"] {
        assert_eq!(world.get(path).await.status, StatusCode::NOT_FOUND);
    }
    for page in pages_of(&world).await {
        let shown = world.get(&page).await.body;
        assert!(shown.contains("<svg class=\"mark\""), "{shown}");
        assert!(shown.contains("<span class=\"wordmark\">Sluice</span>"), "{shown}");
        for absent in ["/ui/theme.css", "/ui/logo?", "<footer"] {
            assert!(!shown.contains(absent), "{absent}: {shown}");
        }
    }
}
