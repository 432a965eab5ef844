use tokio_postgres::config::TargetSessionAttrs;

use super::*;

fn address(dsn: &str) -> Address {
    dsn.parse().unwrap()
}

#[test]
fn a_dsn_written_for_hydra_is_accepted() {
    let address = address(
        "postgres://hydra:s%20ecret@db:5433/hydra?sslmode=disable&max_conns=20&max_idle_conns=4&application_name=x",
    );
    assert_eq!(address.servers[0].get_password(), Some(&b"s ecret"[..]));
    assert_eq!(address.servers[0].get_ports(), [5433]);
    assert_eq!(address.servers[0].get_application_name(), Some("x"));
    assert_eq!(address.tls, None);
}

#[test]
fn each_sslmode_says_whether_to_encrypt_and_whom_to_trust() {
    for (mode, ssl, tls) in [
        ("", SslMode::Prefer, Some(Verification::None)),
        ("sslmode=disable", SslMode::Disable, None),
        ("sslmode=prefer", SslMode::Prefer, Some(Verification::None)),
        ("sslmode=require", SslMode::Require, Some(Verification::None)),
        ("sslmode=verify-ca", SslMode::Require, Some(Verification::Authority)),
        ("sslmode=verify-full", SslMode::Require, Some(Verification::Host)),
    ] {
        let address = address(&format!("postgres://u@db/d?{mode}"));
        assert_eq!((address.servers[0].get_ssl_mode(), address.tls), (ssl, tls), "{mode}");
    }
    assert!("postgres://u@db/d?sslmode=maybe".parse::<Address>().is_err());
}

#[test]
fn authorities_that_are_named_count_wherever_tls_is_required() {
    let trusted = |parameters: &str| address(&format!("postgres://u@db/d?{parameters}")).tls;
    assert_eq!(trusted("sslmode=require&sslrootcert=/ca.pem"), Some(Verification::Authority));
    assert_eq!(trusted("sslmode=verify-full&sslrootcert=/ca.pem"), Some(Verification::Host));
    assert_eq!(trusted("sslrootcert=/ca.pem"), Some(Verification::None));
    assert_eq!(trusted("sslrootcert=system"), Some(Verification::Host));
    assert_eq!(address("postgres://u@db/d?sslrootcert=system").root_certificates, None);
    for weak in ["disable", "prefer", "require", "verify-ca"] {
        let dsn = format!("postgres://u@db/d?sslrootcert=system&sslmode={weak}");
        assert_eq!(check_dsn(&dsn), Err(InvalidDsn::AnyHost), "{weak}");
    }
}

#[test]
fn what_is_wrong_with_a_dsn_is_said_without_repeating_it() {
    for (dsn, said) in [
        ("host=db user=u", "must begin with postgres://"),
        ("postgres:///d?user=u", "names no host (`hostaddr` alone will not do for TLS)"),
        ("postgres://u@db/d?sslcert=%2Fc.pem", "has the parameter sslcert, which is not supported"),
        ("postgres://u@db/d?ssl%6Bey=%2Fk.pem", "has the parameter sslkey, which is not supported"),
        ("postgres://u@db/d?sslmode=hunter2", "has a value of sslmode that is not known"),
        ("postgres://u@db:hunter2/d", "cannot be read: invalid value for option `port`"),
        (
            "postgres://u@db/d?connect_timeout=hunter2",
            "cannot be read: invalid value for option `connect_timeout`",
        ),
    ] {
        assert_eq!(check_dsn(dsn).unwrap_err().to_string(), said);
    }
    for dsn in
        ["postgres://u:hun?ter2@db/d", "postgres://u:hun?t=er2@db/d", "postgres://u@db/d?port&hunter2=x"]
    {
        assert_eq!(check_dsn(dsn), Err(InvalidDsn::Unknown), "{dsn}");
    }
    assert_eq!(check_dsn("postgresql://u@db"), Ok(()));
}

#[test]
fn a_unix_socket_needs_no_tls() {
    assert_eq!(address("postgres:///d?host=%2Ftmp&user=u").tls, None);
}

#[test]
fn the_authorities_can_be_named() {
    let address = address("postgres://u@db/d?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem");
    assert_eq!(address.root_certificates, Some(PathBuf::from("/etc/ca.pem")));
}

fn host(config: &Config) -> (&str, u16) {
    match (config.get_hosts(), config.get_ports()) {
        ([Host::Tcp(name)], [port]) => (name, *port),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_of_several_servers_is_reached_by_itself() {
    let address = address("postgres://u:p%40ss@a:1,[::1]:2,c:3/d?sslmode=disable&connect_timeout=4");
    assert_eq!(address.servers.iter().map(host).collect::<Vec<_>>(), [("a", 1), ("::1", 2), ("c", 3)]);
    for server in &address.servers {
        assert_eq!((server.get_user(), server.get_password()), (Some("u"), Some(&b"p@ss"[..])));
        assert_eq!((server.get_dbname(), server.get_application_name()), (Some("d"), Some("sluice")));
        assert_eq!(server.get_ssl_mode(), SslMode::Disable);
        assert_eq!(server.get_connect_timeout(), Some(&Duration::from_secs(4)));
        assert_eq!(server.get_keepalives_idle(), Duration::from_secs(30));
        assert_eq!(server.get_keepalives_interval(), Some(Duration::from_secs(10)));
        assert_eq!(server.get_tcp_user_timeout(), Some(&Duration::from_secs(30)));
    }
}

#[test]
fn a_name_and_its_address_belong_together() {
    let address = address("postgres://u@a,b:7/d?hostaddr=192.0.2.1,192.0.2.2");
    let addresses: Vec<_> = address.servers.iter().map(Config::get_hostaddrs).collect();
    assert_eq!(
        addresses,
        [["192.0.2.1".parse::<std::net::IpAddr>().unwrap()], ["192.0.2.2".parse().unwrap()]]
    );
    assert_eq!(address.servers.iter().map(|server| host(server).0).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn an_address_without_a_name_is_not_spoken_to_in_clear_where_tls_is_required() {
    let dsn = |mode: &str| format!("postgres://u@/d?hostaddr=192.0.2.1&sslmode={mode}");
    for mode in ["require", "verify-ca", "verify-full"] {
        assert_eq!(check_dsn(&dsn(mode)), Err(InvalidDsn::NoHost), "{mode}");
    }
    assert_eq!(address(&dsn("prefer")).tls, None);
}

#[test]
fn a_comma_in_a_password_names_no_second_server() {
    let address = address("postgres://u:a,b%2Fc@h/d");
    assert_eq!(address.servers.len(), 1);
    assert_eq!(address.servers[0].get_password(), Some(&b"a,b/c"[..]));
}

#[test]
fn how_long_an_address_is_waited_for_can_be_said() {
    let patience = |dsn| address(dsn).servers[0].get_connect_timeout().copied();
    assert_eq!(patience("postgres://u@db/d"), Some(Duration::from_secs(2)));
    assert_eq!(patience("postgres://u@db/d?connect_timeout=4"), Some(Duration::from_secs(4)));
}

#[test]
fn how_long_a_connection_may_be_silent_can_be_said() {
    let idle = |dsn| address(dsn).servers[0].get_keepalives_idle();
    assert_eq!(idle("postgres://u@db/d"), Duration::from_secs(30));
    assert_eq!(idle("postgres://u@db/d?keepalives_idle=9"), Duration::from_secs(9));
}

/// Not by whether it can be written to: one whose disk is full must serve reads.
#[test]
fn a_server_may_be_any_but_a_standby_unless_the_dsn_says_what_it_wants() {
    let said = |dsn| (address(dsn).servers[0].get_target_session_attrs(), address(dsn).standby_will_do);
    assert_eq!(said("postgres://u@db/d"), (TargetSessionAttrs::Any, false));
    assert_eq!(said("postgres://u@db,other/d"), (TargetSessionAttrs::Any, false));
    assert_eq!(said("postgres://u@db/d?target_session_attrs=any"), (TargetSessionAttrs::Any, true));
    let named = said("postgres://u@db/d?target_session_attrs=read-write");
    assert_eq!(named, (TargetSessionAttrs::ReadWrite, false));
}

/// By the connection's beginning alone: a pooler would keep what a statement sets, for whoever comes next.
#[test]
fn a_guest_says_what_is_to_be_set_as_it_begins() {
    let said = |dsn| {
        let guest = address(dsn).into_guest("-c row_security=off");
        let options = guest.servers.iter().map(|server| server.get_options().unwrap().to_owned());
        (options.collect::<Vec<_>>(), guest.is_guest)
    };
    let settings = "-c row_security=off".to_owned();
    assert_eq!(said("postgres://u@db,other/d"), (vec![settings.clone(), settings], true));
    let with_its_own = said("postgres://u@db/d?options=-c%20search_path%3Dhydra");
    assert_eq!(with_its_own.0, ["-c search_path=hydra -c row_security=off"]);
    assert!(!address("postgres://u@db/d").is_guest);
}

/// It could not be written to by its settings alone.
#[test]
fn a_guest_that_wants_a_server_that_can_be_written_to_wants_a_primary() {
    let guest = |dsn| address(dsn).into_guest("-c default_transaction_read_only=on");
    let said = |dsn| (guest(dsn).servers[0].get_target_session_attrs(), guest(dsn).standby_will_do);
    let read_write = "postgres://u@db/d?target_session_attrs=read-write";
    assert_eq!(said(read_write), (TargetSessionAttrs::Any, false));
    assert_eq!(said("postgres://u@db/d?target_session_attrs=any"), (TargetSessionAttrs::Any, true));
}

#[test]
fn each_of_several_hosts_has_a_name_and_what_may_be_the_rest_of_a_password_has_none() {
    for (hosts, names) in [
        ("db1,db2:5433", &["db1:5432", "db2:5433"][..]),
        ("db1", &[][..]),
        ("word@db1,db2", &[][..]),
        ("?hostaddr=::1,127.0.0.1&port=5433&sslmode=disable", &["[::1]:5433", "127.0.0.1:5433"][..]),
    ] {
        let address = address(&format!("postgres://u:pass@{hosts}"));
        let told: Vec<_> = address.names.iter().map(|name| &**name).collect();
        assert_eq!(told, names, "{hosts}");
    }
}
