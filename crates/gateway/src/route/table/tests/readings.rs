//! Paths that the upstream may read otherwise than the gateway: none leads around a route.

use percent_encoding::percent_decode_str;
use proptest::prelude::*;

use super::*;

#[test]
fn escapes_do_not_lead_past_a_route() {
    assert_found(
        &["prefix: /", "prefix: /admin", "prefix: '/grö ße'"],
        &[
            ("GET h/%61dmin", Ok("r1")),
            ("GET h/%61%64%6D%69%6E/x", Ok("r1")),
            ("GET h/gr%C3%B6%20%c3%9fe", Ok("r2")),
            ("GET h/x/../admin", AMBIGUOUS),
            ("GET h/x/%2e%2e/admin", AMBIGUOUS),
            ("GET h/x%2f..%2fadmin", AMBIGUOUS),
        ],
    );
}

#[test]
fn what_upstreams_may_read_otherwise_passes_only_if_it_makes_no_difference() {
    assert_found(
        &["prefix: /", "prefix: /admin", "pattern: '/files/{name}'"],
        &[
            ("GET h//admin", AMBIGUOUS),
            ("GET h///admin/x", AMBIGUOUS),
            ("GET h//x/admin", AMBIGUOUS),
            ("GET h///x/admin", AMBIGUOUS),
            ("GET h//x:1/admin/y", AMBIGUOUS),
            ("GET h//u@x/admin;y", AMBIGUOUS),
            ("GET h//x//admin", AMBIGUOUS),
            ("GET h/;y/x/admin", AMBIGUOUS),
            ("GET h/\\x/admin", AMBIGUOUS),
            ("GET h//x/shop", Ok("r0")),
            ("GET h/shop//x/admin", Ok("r0")),
            ("GET h/%2561dmin", AMBIGUOUS),
            ("GET h/x%252f..%252fadmin", AMBIGUOUS),
            ("GET h/x%252F..%252Fadmin", AMBIGUOUS),
            ("GET h/shop/a%252Fb", Ok("r0")),
            ("GET h/shop/100%25", Ok("r0")),
            ("GET h/;x/admin", AMBIGUOUS),
            ("GET h/admin;x=1", AMBIGUOUS),
            ("GET h/admin;x=1/y", AMBIGUOUS),
            ("GET h/admin//x", Ok("r1")),
            ("GET h/admin/x;y=1", Ok("r1")),
            ("GET h/shop//x", Ok("r0")),
            ("GET h/shop;jsessionid=1", Ok("r0")),
            ("GET h/files/a;v=1", Ok("r2")),
            ("GET h/files//a", AMBIGUOUS),
        ],
    );
}

#[test]
fn what_ends_a_path_for_some_leads_around_no_route() {
    assert_found(
        &[
            "prefix: /",
            "path: /jobs",
            "prefix: /admin",
            "pattern: '/users/{id}/secret'",
            "pattern: '/items/{id}'",
        ],
        &[
            ("GET h/jobs;x/y", AMBIGUOUS),
            ("GET h/users/1/secret;a/b", AMBIGUOUS),
            ("GET h/users/1/secret;a//b", AMBIGUOUS),
            ("GET h/jobs%3Fx", AMBIGUOUS),
            ("GET h/jobs%3fx/y", AMBIGUOUS),
            ("GET h/jobs%253Fx", AMBIGUOUS),
            ("GET h/jobs%23x", AMBIGUOUS),
            ("GET h/admin%3Fx", AMBIGUOUS),
            ("GET h/admin%23/x", AMBIGUOUS),
            ("GET h/users/a%3Bb/secret;x/y", AMBIGUOUS),
            ("GET h/users/%3Bb/secret;x", AMBIGUOUS),
            ("GET h/users/;b/secret;x", AMBIGUOUS),
            ("GET h/users/;b/secret%3Bx", AMBIGUOUS),
            ("GET h/users/;b%3Bc/secret;x", AMBIGUOUS),
            ("GET h/users/;b/other;x", Ok("r0")),
            ("GET h/users/a%23b/secret%3Fx", AMBIGUOUS),
            ("GET h/items/7;v=1/parts", AMBIGUOUS),
            ("GET h/items/%23main", AMBIGUOUS),
            ("GET h/items/a%23b", Ok("r4")),
            ("GET h/items/why%3F", Ok("r4")),
            ("GET h/shop;v=1/x", Ok("r0")),
            ("GET h/shop/why%3F/%23x", Ok("r0")),
            ("GET h/admin/why%3F", Ok("r2")),
        ],
    );
}

#[test]
fn what_is_left_without_a_prefix_leads_around_no_route_either() {
    let text = "routes: [{name: api, match: {prefix: /api/}, rewrite_prefix: /}, {name: admin, match: {prefix: /api/admin}, rewrite_prefix: /admin}, \
        {name: inner, match: {prefix: /v1/}, rewrite_prefix: /inner/}, {name: jobs, match: {path: /v1/jobs}}, \
        {name: secret, match: {pattern: '/api/users/{id}/secret'}}]";
    let table = file::read(text, Path::new("")).unwrap().table;
    for (request, route) in [
        ("GET h/api/x/admin", Ok("api")),
        ("GET h/api//x/admin", AMBIGUOUS),
        ("GET h/api///x/admin/y", AMBIGUOUS),
        ("GET h/api/;y/x/admin", AMBIGUOUS),
        ("GET h/%61pi//x/admin", AMBIGUOUS),
        ("GET h/api//x/admin%3Fy", AMBIGUOUS),
        ("GET h/api//x/users/%3Bb/secret;x", AMBIGUOUS),
        ("GET h/api//x/users/%3Bb/other;x", Ok("api")),
        ("GET h/api//orders/7", Ok("api")),
        ("GET h/api//", Ok("api")),
        ("GET h/api", Ok("api")),
        ("GET h/v1//x/jobs", Ok("inner")),
    ] {
        assert_eq!(found(&table, request), route, "{request}");
    }
}

#[test]
fn where_suffixes_are_ignored_none_leads_around_a_route() {
    let text = "ignore_suffix: true, routes: [{name: all, match: {prefix: /}}, {name: admin, match: {prefix: /admin}}, {name: icon, match: {path: /favicon.ico}}, \
        {name: version, match: {prefix: /v1.2}}, {name: old, match: {prefix: /v1}}, {name: user, match: {pattern: '/users/{id}'}}, \
        {name: me, match: {path: /users/me}}, {name: photo, match: {pattern: '/{place}/photo.png'}}]";
    let suffixed = file::read(&format!("{{{text}}}"), Path::new("")).unwrap().table;
    let strict = file::read(&format!("{{{}}}", text.replace("true", "false")), Path::new("")).unwrap().table;
    for (request, route, otherwise) in [
        ("GET h/admin", Ok("admin"), Ok("admin")),
        ("GET h/admin.json", AMBIGUOUS, Ok("all")),
        ("GET h/admin.tar.gz", AMBIGUOUS, Ok("all")),
        ("GET h/admin.", AMBIGUOUS, Ok("all")),
        ("GET h/admin%20", AMBIGUOUS, Ok("all")),
        ("GET h/admin.%20/users", AMBIGUOUS, Ok("all")),
        ("GET h/%61dmin%2Ejson", AMBIGUOUS, Ok("all")),
        ("GET h/admin.json/", AMBIGUOUS, Ok("all")),
        ("GET h/admin%20.json", AMBIGUOUS, Ok("all")),
        ("GET h/admin%20.tar.gz/", AMBIGUOUS, Ok("all")),
        ("GET h/shop/%20.json", AMBIGUOUS, Ok("all")),
        ("GET h/shop%20.json", Ok("all"), Ok("all")),
        ("GET h/admin.json;x=1", AMBIGUOUS, Ok("all")),
        ("GET h//x/admin.json", AMBIGUOUS, Ok("all")),
        ("GET h/admin/%20", AMBIGUOUS, Ok("admin")),
        ("GET h/admin/...", AMBIGUOUS, Ok("admin")),
        ("GET h/x/..%20/admin", AMBIGUOUS, Ok("all")),
        ("GET h/admin/users.json", Ok("admin"), Ok("admin")),
        ("GET h/index.html", Ok("all"), Ok("all")),
        ("GET h/.well-known/jwks.json", Ok("all"), Ok("all")),
        ("GET h/favicon.ico", Ok("icon"), Ok("icon")),
        ("GET h/favicon.ico.", AMBIGUOUS, Ok("all")),
        ("GET h/favicon.ico.gz", AMBIGUOUS, Ok("all")),
        ("GET h/v1.2", Ok("version"), Ok("version")),
        ("GET h/v1.2/", Ok("version"), Ok("version")),
        ("GET h/v1.2/x.json", Ok("version"), Ok("version")),
        ("GET h/v1.3", AMBIGUOUS, Ok("all")),
        ("GET h/users/ada.l@example.com", Ok("user"), Ok("user")),
        ("GET h/users/me.xml", AMBIGUOUS, Ok("user")),
        ("GET h/shop/photo.png", Ok("photo"), Ok("photo")),
        ("GET h/shop%20/photo.png", Ok("photo"), Ok("photo")),
        ("GET h/admin%20/photo.png", AMBIGUOUS, Ok("photo")),
    ] {
        assert_eq!(found(&suffixed, request), route, "{request}");
        assert_eq!(found(&strict, request), otherwise, "{request} where they count");
    }
}

#[test]
fn a_slash_at_the_end_leads_around_no_route() {
    assert_found(
        &[
            "prefix: /",
            "path: /admin",
            "pattern: '/users/{id}/secret'",
            "path: /jobs, methods: [POST]",
            "prefix: /shop",
            "path: /dir/",
            "path: /both",
            "path: /both/",
            "path: /only, hosts: [api.example.com]",
            "path: /ui",
            "prefix: /ui/",
            "path: /ui/admin",
        ],
        &[
            ("GET h/admin", Ok("r1")),
            ("GET h/admin/", AMBIGUOUS),
            ("GET h/%61dmin/", AMBIGUOUS),
            ("GET h/admin//", AMBIGUOUS),
            ("GET h/admin/;x", AMBIGUOUS),
            ("GET h/admin/x", Ok("r0")),
            ("GET h/admin/x/", Ok("r0")),
            ("GET h/users/1/secret/", AMBIGUOUS),
            ("POST h/jobs/", AMBIGUOUS),
            ("GET h/jobs", OTHER),
            ("GET h/jobs/", AMBIGUOUS),
            ("GET h/shop/", Ok("r4")),
            ("GET h/shop/x/", Ok("r4")),
            ("GET h/dir/", Ok("r5")),
            ("GET h/dir", Ok("r0")),
            ("GET h/both", Ok("r6")),
            ("GET h/both/", Ok("r7")),
            ("GET api.example.com/only/", AMBIGUOUS),
            ("GET h/only/", Ok("r0")),
            ("GET h/ui", Ok("r9")),
            ("GET h/ui/", Ok("r10")),
            ("GET h/ui/x/", Ok("r10")),
            ("GET h/ui/admin/", AMBIGUOUS),
            ("GET h/", Ok("r0")),
        ],
    );
}

#[test]
fn where_case_is_ignored_no_capital_leads_around_a_route() {
    let text = "{ignore_case: true, allow_encoded_slash: true, routes: [{name: all, match: {prefix: /}}, {name: admin, match: {path: /Admin, methods: [GET]}}, \
        {name: secret, match: {pattern: '/users/{id}/secret'}}, {name: over, match: {prefix: /über}}, {name: street, match: {prefix: /οδός}}, {name: kiosk, match: {prefix: /kiosk}}]}";
    let table = file::read(text, Path::new("")).unwrap().table;
    for (request, route) in [
        ("GET h/admin", Ok("admin")),
        ("GET h/Admin", Ok("admin")),
        ("GET h/ADMIN", Ok("admin")),
        ("GET h/%41dmin", Ok("admin")),
        ("PUT h/ADMIN", OTHER),
        ("GET h/ADMIN/", AMBIGUOUS),
        ("GET h//Admin", AMBIGUOUS),
        ("GET h//x/Admin", AMBIGUOUS),
        ("GET h/%2541dmin", AMBIGUOUS),
        ("GET h/Admin;x", AMBIGUOUS),
        ("GET h/users%2F7/Secret", AMBIGUOUS),
        ("GET h/Users/Ada/SECRET", Ok("secret")),
        ("GET h/%C3%9Cber/x", Ok("over")),
        ("GET h/%CE%9F%CE%94%CE%8C%CE%A3/x", Ok("street")),
        ("GET h/%CE%BF%CE%B4%CF%8C%CF%82", Ok("street")),
        ("GET h/Kiosk", Ok("kiosk")),
        ("GET h/%E2%84%AAiosk", AMBIGUOUS),
        ("GET h/Other", Ok("all")),
    ] {
        assert_eq!(found(&table, request), route, "{request}");
    }
    let allowed: Vec<&str> = table.methods("h", "/ADMIN").into_iter().map(Method::as_str).collect();
    assert_eq!(allowed, ["GET", "HEAD"]);
    assert_eq!(table.matches()[1].path.as_str(), "/Admin", "as it is written");
}

#[test]
fn escaped_slashes_pass_where_the_file_allows_them_and_they_make_no_difference() {
    let text = "{allow_encoded_slash: true, routes: [{name: files, match: {prefix: /files}}, {name: admin, match: {prefix: /files/admin}}]}";
    let table = file::read(text, Path::new("")).unwrap().table;
    assert_eq!(found(&table, "GET h/files/a%2Fb"), Ok("files"));
    assert_eq!(found(&table, "GET h/files/https:%2F%2Fh%2Fa%3Bv=1%2Fb%2520c%3Fq%23d"), Ok("files"));
    assert_eq!(found(&table, "GET h/files/admin%2fb"), AMBIGUOUS);
    assert_eq!(found(&table, "GET h/files%2fadmin"), AMBIGUOUS);
    assert_eq!(found(&table, "GET h/files/..%2fx"), AMBIGUOUS);
}

/// How a program reads paths.
#[derive(Debug)]
struct Reader {
    /// How often it decodes them.
    times: usize,
    /// Whether it takes what follows `//` for a host.
    with_host: bool,
    /// Whether it cuts off parameters before it decodes.
    is_early: bool,
    /// Whether it cuts them off the last segment alone.
    is_last_alone: bool,
    /// What ends a path.
    ends: &'static str,
}

impl Reader {
    /// A path as this program reads it, which cuts parameters and slashes at the end, merges others and resolves dots: the boldest there is.
    /// What it takes for text is escaped.
    fn read(&self, path: &str) -> String {
        let decode = |path: String| percent_decode_str(&path).decode_utf8_lossy().replace('\\', "/");
        let early = if self.is_early { self.cut(path) } else { path.to_owned() };
        let decoded = (0..self.times).fold(early, |path, _| decode(path));
        let after_host = || {
            let host = decoded.strip_prefix("//").filter(|_| self.with_host)?.trim_start_matches('/');
            Some(host.find('/').map_or("", |at| &host[at..]))
        };
        let read = after_host().unwrap_or(&decoded);
        let read = if self.is_early { read.to_owned() } else { self.cut(read) };
        let mut segments: Vec<&str> = Vec::new();
        for segment in read.split('/') {
            match segment {
                "" | "." => {}
                ".." => drop(segments.pop()),
                name => segments.push(name),
            }
        }
        let escape = |path: String, (bare, escaped)| path.replace(bare, escaped);
        [("%", "%25"), (";", "%3B"), ("?", "%3F"), ("#", "%23")]
            .into_iter()
            .fold(format!("/{}", segments.join("/")), escape)
    }

    fn cut(&self, path: &str) -> String {
        let whole = path.split(|letter| self.ends.contains(letter)).next().unwrap();
        let mut bare: Vec<&str> = whole.split('/').collect();
        let kept = if self.is_last_alone { bare.len() - 1 } else { 0 };
        for segment in &mut bare[kept..] {
            *segment = segment.split(';').next().unwrap();
        }
        bare.join("/")
    }
}

prop_compose! {
    fn readers()(times in 1..=3_usize, with_host: bool, is_early: bool, is_last_alone: bool, ends in prop::sample::select(vec!["", ";", "?", "#", ";?#"])) -> Reader {
        Reader { times, with_host, is_early, is_last_alone, ends }
    }
}

proptest! {
    #[test]
    fn a_path_falls_under_the_route_of_what_the_boldest_upstream_reads(
        path in "(/(a|b|admin|%61dmin|adm%69n|adm%2569n|admin;x|\\.|\\.\\.|%2e|%252e|\\.\\.;|%2f|%252f|\\\\|;|%3b|%3f|%23|%253f|%25253b|%5c|)(|;x|%3bx|%3fx|%2523x)){1,6}",
        encoded_slash: bool,
        reader in readers(),
    ) {
        let text = format!(
            "{{allow_encoded_slash: {encoded_slash}, routes: [{{name: all, match: {{prefix: /}}}}, {{name: admin, match: {{prefix: /admin}}}}, \
             {{name: ab, match: {{pattern: '/a/{{x}}/b'}}}}, {{name: deep, match: {{prefix: /b/admin}}}}, {{name: b, match: {{path: /b}}}}]}}"
        );
        let table = file::read(&text, Path::new("")).unwrap().table;
        if let Ok(route) = table.find(&Method::GET, "h", &path) {
            let read = reader.read(&path);
            let also = table.find(&Method::GET, "h", &read).map(|route| route.name.clone());
            prop_assert_eq!(also, Ok(route.name.clone()), "{} as {} by {:?}", path, read, reader);
        }
    }
}
