//! Addresses and cookies that could not work.

use super::*;

#[test]
fn an_address_is_a_url_or_a_path_of_this_server() {
    for key in [
        "urls.login",
        "urls.registration",
        "urls.consent",
        "urls.logout",
        "urls.error",
        "urls.device.verification",
        "urls.device.success",
        "urls.post_logout_redirect",
        "identity.urls.account",
        "webfinger.oidc_discovery.userinfo_url",
    ] {
        let with = |address: &str| given(MINIMAL).set(key, address);
        for wrong in [
            "login",
            "login.example.com/login",
            "//login.example.com/login",
            "/\\login.example.com",
            "https:login",
            "ftp://login.example.com/",
        ] {
            let expected = format!("{key}: must begin with https://, http:// or a single /, not {wrong:?}");
            assert_eq!(with(wrong).problems(), expected);
        }
        for right in
            ["/my/page", "/", "https://login.example.com/page?theme=dark", "HTTP://login.example.com"]
        {
            assert!(with(right).load().is_ok(), "{key} {right}");
        }
    }
}

#[test]
fn the_public_address_has_neither_query_nor_fragment() {
    let public = |address: &str| given(MINIMAL).set("urls.self.public", address);
    for wrong in ["https://id.example.com/?a=b", "https://id.example.com/#a"] {
        let expected =
            "urls.self.public: must have no query and no fragment: the addresses of endpoints are made of it";
        assert_eq!(public(wrong).problems(), expected, "{wrong}");
    }
    let settings = public("https://edge.example.com/id").settings();
    assert_eq!(settings.urls.public.as_str(), "https://edge.example.com/id");
}

#[test]
fn an_address_of_this_server_holds_no_credentials_and_no_pattern() {
    for key in ["urls.self.issuer", "urls.self.public"] {
        let with = |address: &str| given(MINIMAL).set(key, address);
        for wrong in
            ["https://u:p@id.example.com/", "https://u@id.example.com/", "https://:p@id.example.com/"]
        {
            assert_eq!(with(wrong).problems(), format!("{key}: must not hold credentials"), "{wrong}");
        }
        for wrong in
            ["https://id.example.com/a/:b", "https://id.example.com/*", "https://id.example.com/*a/b"]
        {
            let expected = format!("{key}: must have no part of its path that begins with : or *");
            assert_eq!(with(wrong).problems(), expected, "{wrong}");
        }
        for right in ["https://id.example.com/a:b*/c", "https://id.example.com/{a}"] {
            assert!(with(right).load().is_ok(), "{key} {right}");
        }
    }
}

/// What parses a URL looks past it, and who compares the issuer as a text does not (OpenID Connect Core §3.1.3.7).
#[test]
fn an_issuer_has_neither_spaces_nor_line_ends() {
    let expected = "urls.self.issuer: has a space or a line end: it is used exactly as it is written";
    for issuer in [" https://id.example.com", "https://id.example.com/\n", "https://id.exam\tple.com/"] {
        let by_variable = given(MINIMAL).variable("URLS_SELF_ISSUER", issuer);
        assert_eq!(by_variable.problems(), expected, "{issuer:?}");
    }
    let public = given(MINIMAL).set("urls.self.public", " https://edge.example.com/\n").settings();
    assert_eq!(public.urls.public.as_str(), "https://edge.example.com/", "nobody compares how it is written");
    let phantom = given(MINIMAL).set("gateway.phantom.issuer", "gateway ").problems();
    assert!(phantom.starts_with("gateway.phantom.issuer: has a line end, or a space at an end"), "{phantom}");
}

#[test]
fn a_public_address_without_tls_is_warned_about() {
    let public = |address: &str| given(MINIMAL).set("urls.self.public", address);
    let expected = "urls.self.public: is plain http: browsers keep no login cookie, which is Secure, and \
                    clients are told to send secrets and tokens in the clear";
    assert_eq!(public("http://id.example.com/").warnings(), expected);
    assert_eq!(public("https://id.example.com/").warnings(), "");
    assert_eq!(public("http://id.example.com/").development().warnings(), "");
    let issuer = given(MINIMAL).set("urls.self.issuer", "http://id.example.com/").load().err().unwrap();
    assert_eq!(lines(issuer.warnings()), "", "it is refused where it was written");
}

#[test]
fn a_cookie_is_for_the_host_of_the_public_address_or_for_a_domain_above_it() {
    let with = |domain: &str| given(MINIMAL).set("serve.cookies.domain", domain);
    for right in ["id.example.com", "example.com", ".example.com", "Example.COM"] {
        let cookies = with(right).settings().serve.cookies;
        assert_eq!(cookies.domain.as_deref(), Some(right));
    }
    let foreign = |host: &str| {
        format!(
            "serve.cookies.domain: is neither {host}, the host of urls.self.public, nor a domain above it: \
             browsers would drop the cookie"
        )
    };
    for wrong in ["example.org", "other.example.com", "a.id.example.com", "ample.com", "127.0.0.1"] {
        assert_eq!(with(wrong).problems(), foreign("id.example.com"), "{wrong}");
    }
    for wrong in ["https://example.com", "example.com:4444", "example.com/", "."] {
        let expected = format!("serve.cookies.domain: {wrong:?} is no host name such as example.com");
        assert_eq!(with(wrong).problems(), expected);
    }
    assert_eq!(
        with("example.com;").problems(),
        "serve.cookies.domain: has characters that a cookie attribute must not have"
    );
    let elsewhere = |domain: &str| with(domain).set("urls.self.public", "https://edge.example.net/");
    for right in ["example.net", "example.com"] {
        assert!(elsewhere(right).load().is_ok(), "{right}: of the public address, or of the issuer");
    }
    assert_eq!(elsewhere("example.org").problems(), foreign("edge.example.net"));
}

#[test]
fn an_address_in_the_place_of_a_name_has_no_domain_above_it() {
    let with = |domain: &str| given("").development().set("serve.cookies.domain", domain);
    assert!(with("127.0.0.1").load().is_ok());
    for wrong in ["localhost", "0.0.1"] {
        let problems = with(wrong).problems();
        assert!(problems.starts_with("serve.cookies.domain: is neither 127.0.0.1, "), "{problems}");
    }
}

#[test]
fn the_path_of_the_session_cookie_begins_with_a_slash() {
    let with = |path: &str| given(MINIMAL).set("serve.cookies.paths.session", path);
    assert_eq!(with("oauth2").problems(), "serve.cookies.paths.session: must begin with a slash");
    assert_eq!(with("/oauth2").settings().serve.cookies.session_path, "/oauth2");
}

#[test]
fn a_host_of_ipv6_may_be_in_brackets_and_an_empty_one_is_every_interface() {
    let with = |host: &str| given(MINIMAL).set("serve.admin.host", host);
    for (written, host, is_local) in [
        ("[::1]", "::1", true),
        ("::1", "::1", true),
        ("localhost", "localhost", true),
        ("[::]", "::", false),
        ("", "", false),
    ] {
        let address = with(written).settings().serve.admin.listener.address;
        assert_eq!(address.is_local(), is_local, "{written}");
        assert_eq!(address, ListenAddress::Tcp { host: host.to_owned(), port: 4445 });
    }
    let taken = with("").set("serve.public.host", "192.0.2.1").set("serve.public.port", "4445");
    assert_eq!(taken.problems(), "serve.admin.port: is taken by the public listener");
}

#[test]
fn a_network_of_ipv4_that_is_written_as_one_of_ipv6_is_of_ipv4() {
    let with = |key: &str, network: &str| given(MINIMAL).set(key, network).settings();
    for (written, network) in [
        ("::ffff:127.0.0.1", "127.0.0.1/32"),
        ("::ffff:a00:0/104", "10.0.0.0/8"),
        ("::ffff:10.1.0.0/112", "10.1.0.0/16"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::ffff:0:0/95", "::ffff:0:0/95"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("::1", "::1/128"),
        ("10.0.0.0/8", "10.0.0.0/8"),
    ] {
        let expected: Vec<ipnet::IpNet> = vec![network.parse().unwrap()];
        let trusted = with("serve.trusted_proxies", written).serve.trusted_proxies;
        assert_eq!(trusted, expected, "{written}");
        let exempt = with("identity.limits.exempt", written).identity.limits.exempt;
        assert_eq!(exempt, expected, "{written}");
    }
}

/// As Hydra reads it, in YAML and elsewhere.
#[test]
fn the_mode_of_a_socket_is_octal_after_a_0() {
    let mode = |given: Given| {
        let settings = given.set("serve.admin.host", "unix:/run/sluice.sock").settings();
        match settings.serve.admin.listener.address {
            ListenAddress::Unix { mode, .. } => mode,
            other @ ListenAddress::Tcp { .. } => panic!("{other:?}"),
        }
    };
    for (yaml, expected) in
        [("0660", 0o660), ("'0660'", 0o660), ("0o660", 0o660), ("432", 0o660), ("0", 0), ("0777", 0o777)]
    {
        let file = format!("serve: {{admin: {{socket: {{mode: {yaml}}}}}}}").leak();
        assert_eq!(mode(given(MINIMAL).and_file(file)), expected, "{yaml}");
    }
    for text in ["0660", "0o660", "432"] {
        assert_eq!(mode(given(MINIMAL).variable("SERVE_ADMIN_SOCKET_MODE", text)), 0o660, "{text}");
        assert_eq!(mode(given(MINIMAL).set("serve.admin.socket.mode", text)), 0o660, "{text}");
    }
    let expected = "serve.admin.socket.mode: must be a whole number from 0 to 0777, octal after a 0, not";
    for wrong in ["755", "0888", "01000", "-1", "rw"] {
        let said = given(MINIMAL).set("serve.admin.socket.mode", wrong).problems();
        assert!(said.starts_with(expected) && said.lines().count() == 1, "{said}");
    }
}
