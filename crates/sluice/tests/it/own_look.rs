//! A look and languages of one's own for the built-in pages: files that a node reads when it starts.

use reqwest::header::HeaderMap;
use sluice_testkit::{Backend, TestSluice};

const THEME: &str = ":root { --accent: #5a1e78 }\n";
const LOGO: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 96 32\"/>\n";

async fn fetched(sluice: &TestSluice, path: &str) -> (HeaderMap, String) {
    let answer = reqwest::get(sluice.public.join(path).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    let headers = answer.headers().clone();
    (headers, answer.text().await.unwrap())
}

/// What stands in a page between this and the next quotation mark.
fn after<'a>(page: &'a str, start: &str) -> &'a str {
    page.split_once(start).unwrap_or_else(|| panic!("{start}: {page}")).1.split('"').next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_shows_its_pages_in_the_look_that_it_read_when_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let (theme, logo) = (folder.path().join("theme.css"), folder.path().join("logo.svg"));
    std::fs::write(&theme, THEME).unwrap();
    std::fs::write(&logo, LOGO).unwrap();
    let settings = [
        ("identity.pages.stylesheet", theme.to_str().unwrap()),
        ("identity.pages.logo", logo.to_str().unwrap()),
        ("identity.pages.privacy_url", "https://example.com/privacy"),
        ("identity.support", "help@example.com"),
    ];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    folder.close().unwrap();
    let (_, page) = fetched(&sluice, "/ui/logged-out").await;
    for link in ["href=\"mailto:help@example.com\"", "href=\"https://example.com/privacy\""] {
        assert!(page.contains(link), "{link}: {page}");
    }
    let version = after(&page, "href=\"/ui/theme.css?v=");
    let (headers, theme) = fetched(&sluice, &format!("/ui/theme.css?v={version}")).await;
    assert_eq!(theme, THEME);
    assert_eq!(headers["content-type"], "text/css; charset=utf-8");
    assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
    let (headers, logo) = fetched(&sluice, after(&page, "<img class=\"logo\" src=\"")).await;
    assert_eq!(logo, LOGO);
    assert_eq!(headers["content-type"], "image/svg+xml");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
    assert_eq!(headers["content-security-policy"], policy);
    sluice.node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_tells_its_pages_in_the_languages_of_a_folder_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let italian = "\"You are signed out\": \"Sei uscito\"\n";
    std::fs::write(folder.path().join("it.yaml"), italian).unwrap();
    let settings = [("identity.pages.translations", folder.path().to_str().unwrap())];
    let sluice = TestSluice::with(Backend::Sqlite, &settings).await;
    folder.close().unwrap();
    for (tag, heading) in [("it", "Sei uscito"), ("de", "Sie sind abgemeldet"), ("en", "You are signed out")]
    {
        let page = reqwest::Client::new().get(sluice.public.join("/ui/logged-out").unwrap());
        let page = page.header("accept-language", format!("{tag}, en;q=0.5")).send().await.unwrap();
        assert_eq!(page.headers()["content-language"], tag);
        let page = page.text().await.unwrap();
        assert!(page.contains(&format!("<h1>{heading}</h1>")), "{page}");
    }
    sluice.node.stop().await;
}
