//! All that a Hydra keeps, part by part and one by one: what cannot be here is told, and stands in the way of nothing else.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use sluice_commit::{StoreError, chain};
use sluice_crypto::hydra::HydraSecrets;
use sluice_primitives::{Clock, Lifetime, Rng, Timestamp};
use thiserror::Error;
use tracing::info;

use super::differences::Circumstances;
use super::mark_repository::{HydraMarkRepository, Mark, in_one_line, key_id};
use super::report::{Part, Refused, Taken, TakeoverWatcher};
use super::signing_keys::HydraKey;
use super::source::{HydraDatabase, HydraNetwork, HydraRow, HydraTable};
use super::token_repository::HydraTokenRepository;
use super::{issuer, signing_keys};
use crate::client::{ClientRepository, RegistrationRules};
use crate::consent::ConsentRepository;
use crate::keys::{KeyService, KeyServiceError};
use crate::trust::{TrustedIssuer, TrustedIssuerRepository};

/// How many rows are read at a time.
pub(super) const PAGE: u32 = 500;
/// How many sets of keys that are not taken over are named.
const OTHER_SETS: usize = 100;

/// Why a takeover went no further. What was imported before stays; it may be done again.
#[derive(Debug, Error)]
pub enum TakeoverError {
    /// The secrets open none of the keys there.
    #[error("the system secrets given are not those of this Hydra: none of them opens a key in its database")]
    OtherSecrets,
    /// There are no keys, although an earlier import found some.
    #[error(
        "the database of Hydra has no signing keys, and had some at an earlier import: is it the right database, and whole?"
    )]
    NoKeys,
    /// The database has no network: what is missing there would be taken for deleted.
    #[error("the database of Hydra has no network: no Hydra has been started with it")]
    NoNetwork,
    /// The database of Hydra.
    #[error("the database of Hydra: {0}")]
    Hydra(#[source] StoreError),
    /// The database of this server.
    #[error("the database: {0}")]
    Store(#[from] StoreError),
    /// The signing keys of this server.
    #[error("the signing keys: {0}")]
    Keys(#[from] KeyServiceError),
}

/// What of that which has gone there is taken away here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakesAway {
    /// Nothing: who is asked may not have heard of everything.
    Nothing,
    /// As much of a part as people delete: no more than ten, or a tenth of what was imported; and of tokens all, unless none lives there. More is
    /// told instead, and then nothing of it goes.
    Few,
    /// All of it.
    All,
}

/// Takes over what a Hydra keeps.
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct Takeover {
    pub hydra: Arc<dyn HydraDatabase>,
    pub secrets: HydraSecrets,
    /// Which Hydra it is ([`network_of`]).
    pub network: HydraNetwork,
    pub clients: Arc<dyn ClientRepository>,
    pub issuers: Arc<dyn TrustedIssuerRepository>,
    pub consents: Arc<dyn ConsentRepository>,
    pub tokens: Arc<dyn HydraTokenRepository>,
    /// What was imported earlier.
    pub marks: Arc<dyn HydraMarkRepository>,
    pub keys: KeyService,
    /// What clients may be registered as here.
    pub rules: RegistrationRules,
    /// How they go on here.
    pub circumstances: Circumstances,
    /// What has gone there.
    pub takes_away: TakesAway,
    /// So long the marker of what is taken away is kept.
    pub marker_lifetime: Lifetime,
    pub clock: Arc<dyn Clock>,
    pub rng: Arc<dyn Rng>,
}

/// Which Hydra a database is of.
///
/// # Errors
/// [`TakeoverError::NoNetwork`] if that cannot be told.
pub async fn network_of(hydra: &dyn HydraDatabase) -> Result<HydraNetwork, TakeoverError> {
    hydra.network().await.map_err(TakeoverError::Hydra)?.ok_or(TakeoverError::NoNetwork)
}

impl Takeover {
    /// Makes sure that the secrets are those of this Hydra, as far as there is something that they seal; and that its keys are there, which each Hydra
    /// that has served has.
    ///
    /// # Errors
    /// [`TakeoverError::OtherSecrets`] or [`TakeoverError::NoKeys`] if they are not.
    pub async fn check_secrets(&self) -> Result<(), TakeoverError> {
        let rows = self.page(HydraTable::SigningKeys, "", PAGE).await?;
        if rows.is_empty() {
            let imported = self.marks.mark_page(self.marks_of_part(Part::SigningKeys), "", 1).await?;
            return if imported.is_empty() { Ok(()) } else { Err(TakeoverError::NoKeys) };
        }
        let opens = |row: &HydraRow| {
            let sealed = row.columns.get("keydata").and_then(serde_json::Value::as_str);
            sealed.is_some_and(|sealed| self.secrets.open(sealed).is_some())
        };
        if rows.iter().any(opens) { Ok(()) } else { Err(TakeoverError::OtherSecrets) }
    }

    /// Takes over one part.
    ///
    /// # Errors
    /// [`TakeoverError`] if one of the databases fails.
    pub async fn take(&self, part: Part, watcher: &mut dyn TakeoverWatcher) -> Result<Taken, TakeoverError> {
        let mut count = Count { part, taken: Taken::default(), watcher };
        match part {
            Part::SigningKeys => self.take_keys(&mut count).await?,
            Part::Clients => Box::pin(self.take_clients(&mut count)).await?,
            Part::Issuers => self.take_issuers(&mut count).await?,
            Part::Consents => self.take_consents(&mut count).await?,
            Part::Tokens => self.take_tokens(&mut count).await?,
        }
        Ok(count.taken)
    }

    async fn take_keys(&self, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        let mut sets: BTreeMap<String, Vec<HydraKey>> = BTreeMap::new();
        let mut pages = Pages::of(self, HydraTable::SigningKeys, PAGE);
        while let Some(rows) = pages.next().await? {
            for row in rows {
                match signing_keys::signing_key(&row, &self.secrets, &self.keys) {
                    Ok(key) => sets.entry(key.set.clone()).or_default().push(key),
                    Err(reason) => count.refused(row.name("kid"), reason),
                }
            }
        }
        for (set, keys) in sets {
            let (keys, of_no_use) = signing_keys::of_use(keys);
            for key in of_no_use {
                count.refused(key.kid, signing_keys::why_of_no_use());
            }
            if !keys.is_empty() {
                self.take_set(&set, keys, count).await?;
            }
        }
        self.tell_of_other_sets(count).await?;
        self.drop_gone(Part::SigningKeys, count).await
    }

    /// Tells of sets that applications made there, unless somebody has brought them along: what they need them for is not known here.
    async fn tell_of_other_sets(&self, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        match self.other_sets().await {
            Ok(mut left) => {
                let has_more = left.len() > OTHER_SETS;
                left.truncate(OTHER_SETS);
                if !left.is_empty() {
                    count.sets_left(&left, has_more);
                }
                Ok(())
            }
            // Who takes over keys alone need not have the right to read whom that Hydra trusts.
            Err(TakeoverError::Hydra(why @ StoreError::Refused(_))) => {
                count.sets_unread(&chain(&why));
                Ok(())
            }
            Err(failed) => Err(failed),
        }
    }

    /// The names of those sets: all, or one more than are named.
    async fn other_sets(&self) -> Result<Vec<String>, TakeoverError> {
        let (mut left, mut after) = (Vec::new(), String::new());
        loop {
            let sets = self.hydra.other_key_sets(&after, PAGE).await.map_err(TakeoverError::Hydra)?;
            let Some(last) = sets.last() else { return Ok(left) };
            after.clone_from(last);
            for set in sets {
                if signing_keys::present(&self.keys, &set).await?.is_empty() {
                    left.push(set);
                }
                if left.len() > OTHER_SETS {
                    return Ok(left);
                }
            }
        }
    }

    /// Takes over the keys of a set, of which the newest signs there.
    async fn take_set(
        &self,
        set: &str,
        mut keys: Vec<HydraKey>,
        count: &mut Count<'_>,
    ) -> Result<(), TakeoverError> {
        keys.sort_by(|left, right| right.created_at.cmp(&left.created_at));
        let mark = |key: &HydraKey| Mark::new(key_id(set, &key.kid), key.made_at);
        let mut marks: Vec<Mark> = keys.iter().map(mark).collect();
        let ids = marks.iter().map(|mark| mark.id.clone()).collect();
        let marked = self.marked(Part::SigningKeys, ids).await?;
        let found = keys.len();
        self.mark_coming_keys(set, &marks, &marked).await?;
        let added = signing_keys::add(&self.keys, set, keys, &marked).await?;
        if let Some((kid, warning)) = &added.silent {
            count.warned(kid, warning);
        }
        for kid in &added.replaced {
            count.warned(kid, "another key has this kid here; that of Hydra was not taken");
        }
        for kid in &added.left_out {
            count.warned(kid, signing_keys::PART_OF_NONE);
        }
        count.imported(added.count, found);
        // What is here under its name did not come of it, or not any more: it stays when that of Hydra goes.
        let others = added.replaced.iter().chain(&added.left_out);
        let others: Vec<String> = others.map(|kid| key_id(set, kid)).collect();
        marks.retain(|mark| !others.contains(&mark.id));
        self.marks.delete_marks(self.marks_of_part(Part::SigningKeys), others).await?;
        Ok(self.marks.put_marks(self.marks_of_part(Part::SigningKeys), marks).await?)
    }

    /// Marks as on their way those that are neither here nor marked.
    async fn mark_coming_keys(
        &self,
        set: &str,
        marks: &[Mark],
        marked: &HashMap<String, Mark>,
    ) -> Result<(), TakeoverError> {
        let here = signing_keys::present(&self.keys, set).await?;
        let kids = here.iter().filter_map(|own| own.kid.as_deref());
        let here: HashSet<_> = kids.map(|kid| key_id(set, kid)).collect();
        let coming = marks.iter().filter(|mark| !marked.contains_key(&mark.id) && !here.contains(&mark.id));
        Ok(self.mark_coming(Part::SigningKeys, coming.cloned()).await?)
    }

    async fn take_issuers(&self, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        // Before: the same trust may be there again under another id.
        self.drop_gone(Part::Issuers, count).await?;
        let mut pages = Pages::of(self, HydraTable::Issuers, PAGE);
        while let Some(rows) = pages.next().await? {
            for row in rows {
                match issuer::issuer(&row, &self.secrets, self.now()) {
                    Ok(Some(trusted)) => match self.take_issuer(&trusted).await {
                        Ok(is_new) => count.imported(usize::from(is_new), 1),
                        Err(TakeoverError::Store(StoreError::Invalid(reason))) => {
                            count.refused(row.key, reason);
                        }
                        Err(failed) => return Err(failed),
                    },
                    Ok(None) => count.expired(1),
                    Err(reason) => count.refused(row.key, reason),
                }
            }
        }
        Ok(())
    }

    /// Whether it was not here. One that was imported earlier, and is not here, was deleted here. One that is here under the same id came of an
    /// import, too, if of one that was interrupted before it could mark it.
    async fn take_issuer(&self, trusted: &TrustedIssuer) -> Result<bool, TakeoverError> {
        let (of, mark) =
            (self.marks_of_part(Part::Issuers), Mark::new(trusted.id.to_string(), trusted.expires_at));
        let before = self.marks.marks_of(of, vec![mark.id.clone()]).await?.pop();
        if before.as_ref().is_some_and(|before| !before.is_going) {
            return Ok(false);
        }
        let is_here = self.issuers.find(trusted.id).await?.is_some();
        let is_new = if is_here {
            false
        } else {
            self.mark_coming(Part::Issuers, std::iter::once(mark.clone())).await?;
            let inserted = self.issuers.insert(trusted).await;
            self.unmark_refused(Part::Issuers, mark.id.clone(), inserted).await?
        };
        // Of one that was on its way it may not have been said.
        if is_new || (is_here && before.is_some()) {
            let (issuer, kid) = (trusted.issuer.as_str(), trusted.key_id.as_str());
            info!(target: "sluice_audit", { trust.id = %trusted.id, trust.issuer = issuer, key.kid = kid }, "issuer imported");
        }
        self.marks.put_marks(of, vec![mark]).await?;
        Ok(is_new)
    }

    async fn page(&self, table: HydraTable, after: &str, limit: u32) -> Result<Vec<HydraRow>, TakeoverError> {
        self.hydra.page(table, after, limit).await.map_err(TakeoverError::Hydra)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// A table, page by page.
pub(super) struct Pages<'a> {
    takeover: &'a Takeover,
    table: HydraTable,
    after: String,
    limit: u32,
}

impl<'a> Pages<'a> {
    pub(super) const fn of(takeover: &'a Takeover, table: HydraTable, limit: u32) -> Self {
        Self { takeover, table, after: String::new(), limit }
    }

    /// The next rows; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<HydraRow>>, TakeoverError> {
        let rows = self.takeover.page(self.table, &self.after, self.limit).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        self.after.clone_from(&last.key);
        Ok(Some(rows))
    }
}

/// Counts, and tells.
pub(super) struct Count<'a> {
    part: Part,
    taken: Taken,
    watcher: &'a mut dyn TakeoverWatcher,
}

impl Count<'_> {
    /// So many rows are about to be gone through.
    pub(super) fn begins(&mut self, rows: u64) {
        self.watcher.begins(self.part, rows);
    }

    /// Of `found` rows so many were not here before.
    pub(super) fn imported(&mut self, imported: usize, found: usize) {
        self.taken.imported += u64::try_from(imported).unwrap_or_default();
        self.taken.present += u64::try_from(found.saturating_sub(imported)).unwrap_or_default();
        self.watcher.progress(self.part, &self.taken);
    }

    pub(super) fn refused(&mut self, id: String, reason: String) {
        self.taken.refused += 1;
        self.watcher.refused(Refused { part: self.part, id, reason });
        self.watcher.progress(self.part, &self.taken);
    }

    /// So many have expired there.
    pub(super) fn expired(&mut self, expired: usize) {
        self.taken.expired += u64::try_from(expired).unwrap_or_default();
        self.watcher.progress(self.part, &self.taken);
    }

    pub(super) fn warned(&mut self, id: &str, warning: &str) {
        self.watcher.warned(self.part, id, warning);
    }

    /// Sets of keys of these names are not taken over, nor are others if there are more.
    fn sets_left(&mut self, names: &[String], has_more: bool) {
        self.watcher.sets_left(names, has_more);
    }

    /// Nobody knows whether there are such sets.
    fn sets_unread(&mut self, why: &str) {
        self.watcher.sets_unread(why);
    }

    /// So many that were here are here no more.
    pub(super) fn ended(&mut self, ended: u64) {
        self.taken.ended += ended;
    }

    /// How many of this part have been here and are here no more.
    pub(super) const fn all_ended(&self) -> u64 {
        self.taken.ended
    }

    /// One that was here is here no more, by its id. Of decisions there may be many: they are counted alone.
    pub(super) fn taken_away(&mut self, id: &str) {
        self.ended(1);
        if self.part != Part::Consents {
            self.watcher.ended(self.part, &in_one_line(id));
        }
    }

    /// So many of those that were imported are here, although they have gone there.
    pub(super) fn kept(&mut self, gone: u64, imported: u64) {
        self.taken.kept += gone;
        self.watcher.kept(self.part, gone, imported);
    }
}
