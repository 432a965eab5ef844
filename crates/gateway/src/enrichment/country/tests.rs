use ipnet::IpNet;
use mmdb_writer::{IpVersion, Value, Writer};
use tempfile::TempDir;

use super::*;

/// A file of these networks and countries.
fn database(of: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = Writer::new("Test-Country");
    for (network, country) in of {
        let record = Value::map([("country", Value::map([("iso_code", Value::from(*country))]))]);
        writer.insert_value(network.parse::<IpNet>().unwrap(), record).unwrap();
    }
    writer.to_bytes().unwrap()
}

fn europe() -> Vec<u8> {
    database(&[
        ("192.0.2.0/24", "CZ"),
        ("2001:db8:1::/48", "SE"),
        ("198.51.100.0/25", "DE"),
        ("203.0.113.0/24", "xx"),
    ])
}

struct Given {
    directory: TempDir,
    lookup: Arc<CountryLookup>,
}

impl Given {
    fn database(bytes: &[u8]) -> Self {
        let given = Self { directory: tempfile::tempdir().unwrap(), lookup: Arc::default() };
        std::fs::write(given.path(), bytes).unwrap();
        given
    }

    fn loaded(bytes: &[u8]) -> Self {
        let given = Self::database(bytes);
        given.lookup.put(Some(CountryDatabase::read(&given.path()).unwrap()));
        given
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("country.mmdb")
    }

    /// As editors and `geoipupdate` do: written beside it, then renamed.
    fn replace(&self, bytes: &[u8]) {
        let beside = self.directory.path().join("new");
        std::fs::write(&beside, bytes).unwrap();
        std::fs::rename(beside, self.path()).unwrap();
    }

    fn sweep_twice(&self) {
        self.lookup.sweep();
        self.lookup.sweep();
    }

    fn country(&self, address: &str) -> Option<String> {
        let country = self.lookup.country(address.parse().unwrap());
        country.map(|value| value.to_str().unwrap().to_owned())
    }
}

#[test]
fn addresses_of_both_families_have_a_country() {
    let given = Given::loaded(&europe());
    for (address, country) in [
        ("192.0.2.1", Some("CZ")),
        ("192.0.2.255", Some("CZ")),
        ("::ffff:192.0.2.1", Some("CZ")),
        ("198.51.100.1", Some("DE")),
        ("2001:db8:1::1", Some("SE")),
        ("2001:db8:1:ffff::", Some("SE")),
    ] {
        assert_eq!(given.country(address).as_deref(), country, "{address}");
    }
}

#[test]
fn what_the_file_does_not_know_has_no_country() {
    let given = Given::loaded(&europe());
    for address in
        ["192.0.3.1", "198.51.100.200", "10.0.0.1", "127.0.0.1", "::1", "2001:db8:2::1", "::ffff:10.0.0.1"]
    {
        assert_eq!(given.country(address), None, "{address}");
    }
    assert_eq!(given.country("203.0.113.1"), None, "a code that is none");
    assert_eq!(CountryLookup::default().country("192.0.2.1".parse().unwrap()), None, "no file at all");
}

#[test]
fn a_file_for_ipv4_alone_says_nothing_of_ipv6() {
    let mut writer = Writer::builder("Test-Country").ip_version(IpVersion::V4).build();
    let record = Value::map([("country", Value::map([("iso_code", Value::from("CZ"))]))]);
    writer.insert_value("192.0.2.0/24".parse::<IpNet>().unwrap(), record).unwrap();
    let given = Given::loaded(&writer.to_bytes().unwrap());
    assert_eq!(given.country("::ffff:192.0.2.1").as_deref(), Some("CZ"));
    assert_eq!(given.country("2001:db8::1"), None);
}

#[test]
fn a_file_that_is_no_country_database_is_refused() {
    let mut of_networks = Writer::new("Test-ASN");
    let record = Value::map([("autonomous_system_number", Value::from(64_512_u32))]);
    of_networks.insert_value("192.0.2.0/24".parse::<IpNet>().unwrap(), record).unwrap();
    let of_networks = Given::database(&of_networks.to_bytes().unwrap());
    assert!(matches!(CountryDatabase::read(&of_networks.path()), Err(CountryError::NoCountries)));
    let nonsense = Given::database(b"no database");
    assert!(matches!(CountryDatabase::read(&nonsense.path()), Err(CountryError::Format(_))));
    let missing = nonsense.directory.path().join("missing");
    assert!(matches!(CountryDatabase::read(&missing), Err(CountryError::Read(_))));
}

#[test]
fn a_file_is_read_anew_once_it_has_changed_and_stands_still() {
    let given = Given::loaded(&europe());
    given.replace(&database(&[("192.0.2.0/24", "SK")]));
    given.lookup.sweep();
    assert_eq!(given.country("192.0.2.1").as_deref(), Some("CZ"), "it may still be being written");
    given.lookup.sweep();
    assert_eq!(given.country("192.0.2.1").as_deref(), Some("SK"));
}

#[test]
fn a_broken_file_leaves_the_old_one_in_force_until_it_is_whole_again() {
    let given = Given::loaded(&europe());
    let whole = europe();
    for broken in [&b"nonsense"[..], &whole[..whole.len() / 2], b""] {
        given.replace(broken);
        given.sweep_twice();
        assert_eq!(given.country("192.0.2.1").as_deref(), Some("CZ"));
    }
    std::fs::remove_file(given.path()).unwrap();
    given.sweep_twice();
    assert_eq!(given.country("192.0.2.1").as_deref(), Some("CZ"));
    given.replace(&database(&[("192.0.2.0/24", "SK")]));
    given.sweep_twice();
    assert_eq!(given.country("192.0.2.1").as_deref(), Some("SK"));
}

#[test]
fn another_configuration_means_another_file_or_none() {
    let given = Given::loaded(&europe());
    let other = given.directory.path().join("other.mmdb");
    std::fs::write(&other, database(&[("192.0.2.0/24", "PL")])).unwrap();
    given.lookup.put(Some(CountryDatabase::read(&other).unwrap()));
    assert_eq!(given.country("192.0.2.1").as_deref(), Some("PL"), "at once");
    given.replace(&database(&[("192.0.2.0/24", "SK")]));
    given.sweep_twice();
    assert_eq!(given.country("192.0.2.1").as_deref(), Some("PL"), "the first one counts no more");
    given.lookup.put(None);
    given.sweep_twice();
    assert_eq!(given.country("192.0.2.1"), None);
}

#[tokio::test(start_paused = true)]
async fn the_file_is_followed_until_the_program_ends() {
    let given = Given::loaded(&europe());
    let shutdown = CancellationToken::new();
    let following = tokio::spawn(given.lookup.clone().run(shutdown.clone()));
    given.replace(&database(&[("192.0.2.0/24", "SK")]));
    while given.country("192.0.2.1").as_deref() != Some("SK") {
        tokio::time::sleep(SWEEP).await;
    }
    shutdown.cancel();
    following.await.unwrap();
}

#[test]
fn every_code_of_two_letters_is_a_value() {
    assert_eq!((code("AA").unwrap(), code("CZ").unwrap()), ("AA".parse().unwrap(), "CZ".parse().unwrap()));
    assert_eq!(code("ZZ").unwrap(), "ZZ");
    for none in ["", "C", "CZE", "cz", "C1", "Č", "A\n"] {
        assert_eq!(code(none), None);
    }
}
