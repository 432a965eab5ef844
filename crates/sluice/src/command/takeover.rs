//! `sluice import hydra`.

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use sluice_commit::StoreError;
use sluice_crypto::hydra::HydraSecrets;
use sluice_oauth::Config;
use sluice_oauth::keys::{DefaultAlgorithms, KeyRing, KeyService, RingOptions};
use sluice_oauth::takeover::{
    Circumstances, HydraDatabase, Part, Refused, Taken, Takeover, TakeoverError, TakeoverWatcher, TakesAway,
    network_of,
};
use sluice_primitives::Secret;
use sluice_store_postgres::HydraReader;

use super::transfer::progress;
use crate::app::{StartError, fetch_policy, oauth_settings, registration_rules};
use crate::cli::{Answer, Console, Exit, ImportHydraArgs, OutputArgs, TAKE_AWAY_ALL, printable};
use crate::command::installation::Installation;
use crate::command::serve::until_told_to_stop;
use crate::command::{fail, load};
use crate::config::Settings;

const HEADER: &[&str] = &["PART", "IMPORTED", "PRESENT", "REFUSED", "ENDED"];
/// The migration that what is imported needs.
const TABLES: &str = "hydra_tokens";
/// So many rows that are refused are told to a person.
const SAID: u64 = 1_000;
/// Progress is shown whenever it has grown by so many rows.
const SHOWN: u64 = 100;
/// What is told of a Hydra that is a standby.
const STANDBY: &str = "warning: the database of Hydra is a standby, which may not have heard of everything: nothing is taken away here; the last import must be from the primary";
/// How a set of keys is brought along that no import takes over.
const BY_HAND: &str = "`hydra get jwk SET --format json > keys.json` and then `sluice import jwk SET keys.json` bring one along";

/// What was gone through whole.
#[derive(Default)]
struct Done {
    parts: Vec<(Part, Taken)>,
    /// Somebody ended it before its end.
    is_stopped: bool,
    /// Why the next part was not.
    failed: Option<TakeoverError>,
}

/// Imports what a Hydra keeps, and prints how much of each became what. Fails if something was refused, or kept
/// although it has gone there, or it was stopped.
pub(crate) async fn import(
    (import, output): (ImportHydraArgs, OutputArgs),
    environment: Vec<(OsString, OsString)>,
    console: &mut Console<'_>,
) -> Exit {
    match Box::pin(imported(&import, environment, (output.is_quiet, console))).await {
        Err(error) => fail(console, &*error),
        Ok(None) => Exit::Failure,
        Ok(Some(Done { parts, is_stopped, failed })) => {
            let printed = output.print(&answer(&parts), console.out);
            let exit = console.printed(printed);
            if is_stopped {
                console.say("stopped: the same command goes on where it did");
            }
            if let Some(cause) = &failed {
                return fail(console, cause);
            }
            let is_whole = !is_stopped && parts.iter().all(|(_, taken)| taken.refused + taken.kept == 0);
            if is_whole { exit } else { Exit::Failure }
        }
    }
}

/// How much of each part became what. `None`: there is no configuration, which was said.
async fn imported(
    args: &ImportHydraArgs,
    environment: Vec<(OsString, OsString)>,
    (is_quiet, console): (bool, &mut Console<'_>),
) -> Result<Option<Done>, Box<dyn Error>> {
    let hydra = (args.hydra_dsn(console)?, args.hydra_secrets(console)?, args.takes_away());
    let sources = args.installation.sources(environment);
    let Some(loaded) = load(&sources) else { return Ok(None) };
    console.warn(&loaded.warnings);
    let bar = progress::spinner(is_quiet);
    let installation = Installation::open(&loaded.settings, &sources, &bar).await?;
    let done = async {
        let mut told = Told::new(args.errors.as_deref(), &mut *console.err, &bar)?;
        let wanted = args.parts();
        let done = Box::pin(take(&loaded.settings, &installation, hydra, (wanted, &mut told))).await;
        // What was told until then is kept, whatever came in between.
        let ended = told.end();
        let done = done?;
        ended?;
        Ok::<_, Box<dyn Error>>(done)
    };
    let done = done.await;
    bar.finish_and_clear();
    installation.stores.shutdown().await;
    done.map(Some)
}

/// Takes over these parts, until it is told to stop.
async fn take(
    settings: &Settings,
    installation: &Installation,
    (dsn, secrets, asked): (Secret<String>, HydraSecrets, TakesAway),
    (wanted, told): (Vec<Part>, &mut Told<'_>),
) -> Result<Done, Box<dyn Error>> {
    let stop = until_told_to_stop();
    // What other secrets seal is lost, and keeps every node from starting.
    installation.check_secrets().await?;
    let hydra = HydraReader::connect(dsn.expose()).await.map_err(not_connected)?;
    let hydra: Arc<dyn HydraDatabase> = Arc::new(hydra);
    check_schema(installation).await?;
    let is_standby = hydra.is_standby().await.map_err(TakeoverError::Hydra)?;
    if is_standby {
        told.write(STANDBY);
    }
    let takes_away = if is_standby { TakesAway::Nothing } else { asked };
    let takeover = takeover(settings, installation, (hydra, secrets, takes_away)).await?;
    takeover.check_secrets().await?;
    let mut done = Done::default();
    let all = async {
        for part in wanted {
            done.parts.push((part, takeover.take(part, told).await?));
        }
        Ok::<_, TakeoverError>(())
    };
    // Between any two steps: each is a transaction, and all of it may be done again.
    let finished = tokio::select! {
        finished = all => Some(finished),
        () = stop => None,
    };
    done.is_stopped = finished.is_none();
    done.failed = finished.and_then(Result::err);
    Ok(done)
}

/// Why there is no connection to Hydra's database. Nothing is stored there: what cannot be used is the DSN.
fn not_connected(error: StoreError) -> Box<dyn Error> {
    match error {
        StoreError::Invalid(reason) => format!("the database of Hydra: {reason}").into(),
        other => TakeoverError::Hydra(other).into(),
    }
}

/// Nodes do without the tables of what came from a Hydra, but who imports it does not.
async fn check_schema(installation: &Installation) -> Result<(), StartError> {
    let migrations = installation.stores.migrations().await?;
    let is_missing = migrations.iter().any(|one| one.name == TABLES && one.applied_at.is_none());
    if is_missing { Err(StartError::NotMigrated(TABLES.to_owned())) } else { Ok(()) }
}

async fn takeover(
    settings: &Settings,
    installation: &Installation,
    (hydra, secrets, takes_away): (Arc<dyn HydraDatabase>, HydraSecrets, TakesAway),
) -> Result<Takeover, Box<dyn Error>> {
    let config = oauth_settings(settings)?;
    let store = installation.stores.repositories();
    let (clock, rng) = (&installation.clock, &installation.rng);
    let keys = key_service(&config, installation).await?;
    let (request_objects, outbound) = (config.policies.request_objects, fetch_policy(settings));
    Ok(Takeover {
        network: network_of(&*hydra).await?,
        hydra,
        secrets,
        clients: Arc::clone(&store) as _,
        issuers: Arc::clone(&store) as _,
        consents: Arc::clone(&store) as _,
        tokens: Arc::clone(&store) as _,
        marks: store as _,
        keys,
        rules: registration_rules(settings)?,
        circumstances: Circumstances { request_objects, outbound },
        takes_away,
        marker_lifetime: config.lifetimes.revocation,
        clock: Arc::clone(clock),
        rng: Arc::clone(rng),
    })
}

async fn key_service(config: &Config, installation: &Installation) -> Result<KeyService, StartError> {
    let store = installation.stores.repositories();
    let at_rest = &installation.at_rest;
    let (clock, rng) = (&installation.clock, &installation.rng);
    let (id_token, access_token) = (config.policies.id_token_alg, config.policies.access_token_alg);
    let defaults = Some(DefaultAlgorithms { id_token, access_token });
    let options = RingOptions { defaults, ..RingOptions::default() };
    let repo = Arc::clone(&store) as _;
    let ring = KeyRing::start_with(repo, Arc::clone(at_rest), Arc::clone(rng), Arc::clone(clock), options);
    let ring = ring.await?;
    Ok(KeyService::new(store as _, Arc::clone(at_rest), Arc::clone(rng), Arc::clone(clock), ring))
}

/// What is told meanwhile: of rows that are refused to a file all, or to a person the first ones.
struct Told<'a> {
    file: Option<BufWriter<File>>,
    err: &'a mut (dyn Write + Send),
    bar: &'a ProgressBar,
    said: u64,
    /// Of which part how many rows were shown.
    shown: Option<(Part, u64)>,
    /// What did not reach the file.
    failed: Option<io::Error>,
}

impl<'a> Told<'a> {
    fn new(path: Option<&Path>, err: &'a mut (dyn Write + Send), bar: &'a ProgressBar) -> io::Result<Self> {
        let file = path.map(File::create).transpose()?.map(BufWriter::new);
        Ok(Self { file, err, bar, said: 0, shown: None, failed: None })
    }

    fn say(&mut self, refused: &Refused) {
        self.said += 1;
        let said = match self.said {
            ..=SAID => {
                format!(
                    "{} {}: {}",
                    refused.part.as_str(),
                    printable(&refused.id),
                    printable(&refused.reason)
                )
            }
            more if more == SAID + 1 => {
                "further ones are not shown: --errors FILE keeps all of them".to_owned()
            }
            _ => return,
        };
        self.write(&said);
    }

    fn write(&mut self, line: &str) {
        self.bar.suspend(|| {
            // Nobody listens: the summary counts it.
            let _ = writeln!(self.err, "{line}");
        });
    }

    /// Makes sure that the file is written.
    fn end(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(failed) => Err(failed),
            None => self.file.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}

impl TakeoverWatcher for Told<'_> {
    fn begins(&mut self, _: Part, rows: u64) {
        progress::count_to(self.bar, rows);
    }

    fn refused(&mut self, refused: Refused) {
        match &mut self.file {
            Some(file) => {
                let Refused { part, id, reason } = refused;
                let line = json!({ "part": part.as_str(), "id": id, "reason": reason });
                if let Err(failed) = writeln!(file, "{line}") {
                    self.failed = self.failed.take().or(Some(failed));
                }
            }
            None => self.say(&refused),
        }
    }

    fn warned(&mut self, part: Part, id: &str, warning: &str) {
        self.write(&format!("warning: {} {}: {}", part.as_str(), printable(id), printable(warning)));
    }

    fn sets_left(&mut self, names: &[String], has_more: bool) {
        let mut names: Vec<String> = names.iter().map(|name| printable(name)).collect();
        if has_more {
            names.push("and more".to_owned());
        }
        self.write(&format!("warning: key sets that are not taken over: {}; {BY_HAND}", names.join(", ")));
    }

    fn sets_unread(&mut self, why: &str) {
        self.write(&format!("warning: which key sets are not taken over cannot be told: {}", printable(why)));
    }

    fn ended(&mut self, part: Part, id: &str) {
        let (part, id) = (part.as_str(), printable(id));
        self.write(&format!("{part} {id}: it is not at Hydra any more, and was taken away here"));
    }

    fn kept(&mut self, part: Part, gone: u64, imported: u64) {
        let part = part.as_str();
        self.write(&format!(
            "{part}s: {gone} of {imported} that were imported are not at Hydra any more, and none of them was taken away here: is it the right database, and whole? {TAKE_AWAY_ALL} takes them away"
        ));
    }

    fn progress(&mut self, part: Part, taken: &Taken) {
        let total = taken.total();
        let shown = self.shown.filter(|(of, _)| *of == part).map_or(0, |(_, shown)| shown);
        if total >= shown + SHOWN {
            self.shown = Some((part, total));
            self.bar.set_position(total);
            self.bar.set_message(format!("{}s: {total}, {} refused", part.as_str(), taken.refused));
        }
    }
}

fn answer(parts: &[(Part, Taken)]) -> Answer {
    let rows = parts.iter().map(|(part, taken)| {
        let Taken { imported, present, refused, ended, .. } = taken;
        let numbers = [imported, present, refused, ended].map(ToString::to_string);
        std::iter::once(format!("{}s", part.as_str())).chain(numbers).collect()
    });
    let json: Map<String, Value> = parts
        .iter()
        .map(|(part, taken)| {
            let Taken { imported, present, refused, ended, .. } = taken;
            let numbers =
                json!({ "imported": imported, "present": present, "refused": refused, "ended": ended });
            (format!("{}s", part.as_str()), numbers)
        })
        .collect();
    Answer::list(HEADER, rows.collect(), Value::Object(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_shown_however_it_grows() {
        let (bar, mut err) = (ProgressBar::hidden(), Vec::new());
        let mut told = Told::new(None, &mut err, &bar).unwrap();
        let mut shown = |part, present, expired| {
            told.progress(part, &Taken { present, expired, ..Taken::default() });
            bar.position()
        };
        assert_eq!((shown(Part::Consents, 99, 0), shown(Part::Consents, 99, 52)), (0, 151));
        assert_eq!((shown(Part::Consents, 250, 0), shown(Part::Consents, 251, 0)), (151, 251));
        assert_eq!((shown(Part::Tokens, 99, 0), shown(Part::Tokens, 1_000, 0)), (251, 1_000));
    }

    #[test]
    fn what_ended_is_named_and_what_was_kept_is_counted() {
        let (bar, mut err) = (ProgressBar::hidden(), Vec::new());
        let mut told = Told::new(None, &mut err, &bar).unwrap();
        told.ended(Part::Clients, "web\u{1b}");
        told.kept(Part::Consents, 11, 12);
        drop(told);
        let told = String::from_utf8(err).unwrap();
        let [ended, kept]: [&str; 2] = told.lines().collect::<Vec<_>>().try_into().unwrap();
        assert!(ended.starts_with("client web") && !ended.contains('\u{1b}'), "{ended:?}");
        assert!(kept.starts_with("consents: 11 of 12 that were imported"), "{kept:?}");
        assert!(kept.contains("--take-away-all"), "{kept:?}");
    }

    #[test]
    fn sets_that_are_left_are_named_on_one_line() {
        let (bar, mut err) = (ProgressBar::hidden(), Vec::new());
        let names = ["billing".to_owned(), "my\nset".to_owned()];
        Told::new(None, &mut err, &bar).unwrap().sets_left(&names, false);
        let told = String::from_utf8(err).unwrap();
        let expected = r"warning: key sets that are not taken over: billing, my\nset; ";
        assert!(told.starts_with(expected) && told.contains("sluice import jwk SET"), "{told:?}");
        assert_eq!(told.lines().count(), 1, "{told:?}");
    }

    #[test]
    fn of_more_sets_than_are_named_it_is_told_that_there_are_more() {
        let (bar, mut err) = (ProgressBar::hidden(), Vec::new());
        Told::new(None, &mut err, &bar).unwrap().sets_left(&["billing".to_owned()], true);
        let told = String::from_utf8(err).unwrap();
        assert!(told.contains("taken over: billing, and more; `hydra get jwk"), "{told:?}");
    }

    #[test]
    fn a_warning_is_told_on_one_line() {
        let (bar, mut err) = (ProgressBar::hidden(), Vec::new());
        Told::new(None, &mut err, &bar).unwrap().warned(Part::SigningKeys, "k\n1", "it signs nothing");
        let told = String::from_utf8(err).unwrap();
        assert!(told.starts_with("warning: key k") && told.ends_with(": it signs nothing\n"), "{told:?}");
        assert_eq!(told.lines().count(), 1, "{told:?}");
    }
}
