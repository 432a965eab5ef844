//! Whoever steals the database, and not the secrets, does not learn a password from it, however bad it is.

use reqwest::Method;
use serde_json::json;
use sluice_crypto::Sealer;
use sluice_crypto::credential::{
    Attempt, CredentialKeys, CredentialState, Peppers, StoredCredential, Verified,
};
use sluice_crypto::digest::{sha1, sha256};
use sluice_crypto::password_hash::{Argon2Params, HashMemory};
use sluice_identity::Identity;
use sluice_primitives::{NetworkId, Secret};
use sluice_testkit::{Backend, SmtpServer, TestSluice};

use super::guesses::{Loot, Public};
use super::people::{Api, Tokens, hardened, node_after};
use super::postbox;
use super::records::Records;
use crate::both_stores::on_both_stores;

on_both_stores! {
    a_dump_does_not_tell_even_the_worst_passwords,
}

const PEOPLE: u32 = 50;
const PEPPER: &str = "the-pepper-that-no-dump-holds";
const STORAGE: &str = "the-storage-secret-that-no-dump-holds";
/// Parameters that cost the thief nothing.
const EASY: [(&str, &str); 3] =
    [("identity.password_hash.memory", "8"), ("secrets.pepper", PEPPER), ("secrets.storage", STORAGE)];
/// bcrypt of [`super::people::PASSWORD`], made by another program.
const BCRYPT: &str = "$2b$05$f5Wln.c9p1tJ/BOosudp1uoOWFqgwCkFgK8NE3cdQZzAWfgiyskVe";

/// The worst passwords there are, one for each.
fn dictionary() -> Vec<String> {
    let words = [
        "passw0rd", "iloveyou", "sunshine", "princess", "football", "baseball", "superman", "trustno1",
        "11111111", "qwertyui",
    ];
    let endings = ["", "1", "123", "!", "2024"];
    let mut all: Vec<_> =
        endings.iter().flat_map(|ending| words.map(|word| format!("{word}{ending}"))).collect();
    all.push(super::people::PASSWORD.to_owned());
    all
}

/// What the thief knows of somebody.
fn public(identity: &Identity) -> Public {
    let id = identity.id.to_string();
    let known = [
        identity.email.as_bytes(),
        id.as_bytes(),
        identity.id.as_bytes(),
        identity.username.as_bytes(),
        &identity.login_name,
    ];
    let known = known.into_iter().map(<[u8]>::to_vec).collect();
    Public { known, credential: identity.credential.clone() }
}

/// Fifty people with a word each, half of them hardened, and one who came with a hash of another program; all that an
/// installation writes besides.
async fn populated(backend: Backend, smtp: &SmtpServer) -> (TestSluice, Vec<String>, Tokens) {
    let words = dictionary();
    let sign_up = async |api: &Api, number: u32| {
        let made = api.sign_up(&format!("person-{number}@example.com"), &words[number as usize]).await;
        made.json()["id"].as_str().unwrap().to_owned()
    };
    let mut ids = Vec::new();
    let sluice = postbox::node(backend, smtp, &EASY).await;
    for number in 0..PEOPLE / 2 {
        ids.push(sign_up(&Api::of(&sluice), number).await);
    }
    hardened(&sluice, PEOPLE / 2).await;
    let url = smtp.url();
    let unhardened = ("identity.hardening.enabled", "false");
    let later = [&EASY[..], &postbox::sends_to(&url), &[unhardened]].concat();
    let sluice = node_after(sluice, &later).await;
    let api = Api::of(&sluice);
    for number in PEOPLE / 2..PEOPLE {
        ids.push(sign_up(&api, number).await);
    }
    let imported = json!({"email": "imported@example.com", "password_hash": BCRYPT});
    let made = sluice.ask_json(Method::POST, "/admin/identities", Some(&imported), 201).await;
    ids.push(made["id"].as_str().unwrap().to_owned());
    let tokens = Tokens::of(&api.log_in("person-0@example.com", &words[0]).await);
    (sluice, ids, tokens)
}

/// Whether a stored credential is of this word, for those who have the secrets.
fn verifies(keys: &CredentialKeys, identity: &Identity, word: &str, memory: &mut HashMemory) -> bool {
    let stored = StoredCredential::parse(&identity.credential).unwrap();
    let attempt =
        Attempt { owner: Some(identity.id), stored: Some(&stored), password: word.as_bytes(), raw: None };
    let params = Argon2Params::new(8, 1, 1).unwrap();
    keys.verify(&attempt, params, [0; 16], memory).unwrap() != Verified::Wrong
}

/// With the secrets, each credential in the dump tells its own password and no other.
fn secrets_tell(dump: &[u8], network: NetworkId, people: &[Identity], words: &[String]) {
    let secret = |text: &str| [Secret::new(text.as_bytes().to_vec())];
    let at_rest = Sealer::new(network, &secret(STORAGE)).into();
    let keys = CredentialKeys::new(Peppers::new(&secret(PEPPER)).unwrap(), at_rest);
    let mut memory = HashMemory::new();
    for (place, identity) in people.iter().enumerate() {
        let stored = identity.credential.as_bytes();
        assert!(dump.windows(stored.len()).any(|found| found == stored), "the dump is whole");
        assert!(verifies(&keys, identity, &words[place], &mut memory), "{}", identity.email);
        assert!(!verifies(&keys, identity, &words[(place + 1) % words.len()], &mut memory));
    }
}

/// The thief finds what is there to be found: so that finding nothing means something.
fn thief_is_able(dump: &[u8], person: &Public) {
    let (word, id) = ("passw0rd", &person.known[1]);
    let salted = [b"passw0rd:", id.as_slice()].concat();
    let mac =
        aws_lc_rs::hmac::sign(&aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, id), word.as_bytes());
    let leaks = [
        b"\tpassw0rd\t".to_vec(),
        hex::encode(sha1(word.as_bytes())).into_bytes(),
        sha256(&salted).to_vec(),
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, mac).into_bytes(),
    ];
    for leak in leaks {
        let leaking = Loot::of(&[dump, b"\n", &leak, b"\n"].concat());
        assert!(leaking.tells(word, person).is_some(), "{}", String::from_utf8_lossy(&leak));
    }
    let mut memory = HashMemory::new();
    let params = Argon2Params::new(8, 1, 1).unwrap();
    let argon2 =
        sluice_crypto::password_hash::hash(params, &sha256(word.as_bytes()), &[7; 16], &mut memory).unwrap();
    for (word, leak) in [(super::people::PASSWORD, BCRYPT), (word, argon2.as_str())] {
        let leaking = Loot::of(&[b"\tx\t", leak.as_bytes(), b"\x01\x02"].concat());
        assert_eq!(leaking.slowly_tells(word, &[]).as_deref(), Some(leak));
    }
}

async fn a_dump_does_not_tell_even_the_worst_passwords(backend: Backend) {
    let smtp = SmtpServer::start().await;
    // Mails wait, sealed.
    smtp.refuse_next(451, 1_000);
    let (sluice, ids, tokens) = populated(backend, &smtp).await;
    let records = Records::of(&sluice).await;
    let network = records.network().await;
    let mut people = Vec::new();
    for id in &ids {
        people.push(records.find(id).await);
    }
    records.close().await;
    let database = sluice.database.clone();
    sluice.node.stop().await;
    let dump = database.dump().await;
    let (words, loot) = (dictionary(), Loot::of(&dump));
    let public: Vec<_> = people.iter().map(public).collect();
    let state = |identity: &Identity| StoredCredential::parse(&identity.credential).unwrap().state();
    let count = |wanted| people.iter().filter(|identity| state(identity) == wanted).count();
    assert_eq!((count(CredentialState::Hardened), count(CredentialState::Provisional)), (25, 25));
    // Argon2id of the hardened ones is there to be tried, and nothing else.
    let there = |credential: &str| loot.hashes().any(|hash| credential.ends_with(hash));
    assert_eq!(people.iter().filter(|identity| there(&identity.credential)).count(), 25);
    assert!(
        loot.hashes().all(|hash| hash.starts_with("$argon2id$")),
        "{:?}",
        loot.hashes().collect::<Vec<_>>()
    );
    for word in &words {
        for person in &public {
            assert_eq!(loot.tells(word, person), None, "{word}");
        }
        assert_eq!(loot.slowly_tells(word, &public), None, "{word}");
    }
    for secret in [&tokens.access, &tokens.refresh] {
        assert!(!loot.holds(secret.as_bytes()), "nor a token");
    }
    secrets_tell(&dump, network, &people, &words);
    thief_is_able(&dump, &public[0]);
}
