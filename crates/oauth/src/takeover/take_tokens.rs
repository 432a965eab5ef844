//! Refresh tokens: their signatures page by page, and those alone whole that are not here yet; at the end those leave that have ended there since.

use std::collections::HashSet;

use sluice_commit::StoreError;
use sluice_crypto::hydra::{read_mac, write_mac};
use sluice_primitives::AttemptId;

use super::grant;
use super::import::{Count, Takeover, TakeoverError, TakesAway};
use super::known_clients::{Fit, KnownClients};
use super::report::Part;
use super::source::HydraRow;
use super::token_repository::{HydraToken, TokenMac};
use super::tokens::keep_keys;

/// How many tokens are looked at at a time.
const PAGE: u32 = 1_000;

/// A token, and the id of the request at Hydra that it is called by.
type Named = (String, HydraToken);

impl Takeover {
    pub(super) async fn take_tokens(&self, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        keep_keys(&self.keys, self.secrets.token_keys()).await?;
        let living = self.hydra.living_tokens().await.map_err(TakeoverError::Hydra)?;
        count.begins(living);
        let mut known = KnownClients::default();
        let mut after = String::new();
        loop {
            let page = self.hydra.token_page(&after, PAGE).await.map_err(TakeoverError::Hydra)?;
            let Some(last) = page.last() else { break };
            after.clone_from(last);
            let found = page.len();
            let new = self.new_signatures(page).await?;
            count.imported(0, found.saturating_sub(new.len()));
            if !new.is_empty() {
                let rows = self.hydra.tokens(new).await.map_err(TakeoverError::Hydra)?;
                let tokens = self.tokens_of(rows, &mut known, count).await?;
                self.import_tokens(tokens, count).await?;
            }
        }
        match (self.takes_away, living) {
            (TakesAway::Nothing, _) => Ok(()),
            (TakesAway::Few, 0) => self.keep_ended(count).await,
            (TakesAway::Few | TakesAway::All, _) => self.drop_ended(count).await,
        }
    }

    /// Those whose tokens are not here.
    async fn new_signatures(&self, mut page: Vec<String>) -> Result<Vec<String>, TakeoverError> {
        let macs: Vec<TokenMac> = page.iter().filter_map(|signature| read_mac(signature)).collect();
        let known: HashSet<TokenMac> = self.tokens.known_tokens(macs).await?.into_iter().collect();
        page.retain(|signature| read_mac(signature).is_none_or(|mac| !known.contains(&mac)));
        Ok(page)
    }

    async fn tokens_of(
        &self,
        rows: Vec<HydraRow>,
        known: &mut KnownClients,
        count: &mut Count<'_>,
    ) -> Result<Vec<Named>, TakeoverError> {
        let mut tokens = Vec::with_capacity(rows.len());
        for row in rows {
            let (now, name) = (self.now(), row.name("request_id"));
            let attempt = AttemptId::generate(now, &*self.rng);
            match grant::token(&row, &self.secrets, (self.network, now, attempt)) {
                Ok(None) => count.expired(1),
                Ok(Some(token)) => match known.fit_of_grant(&token.grant.client, self).await? {
                    Fit::Good => tokens.push((name, token)),
                    Fit::Gone => count.imported(0, 1),
                    Fit::Refused(reason) => count.refused(name, reason),
                },
                Err(reason) => count.refused(name, reason),
            }
        }
        Ok(tokens)
    }

    async fn import_tokens(&self, tokens: Vec<Named>, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        let all: Vec<HydraToken> = tokens.iter().map(|(_, token)| token.clone()).collect();
        let found = all.len();
        match self.tokens.import_tokens(all).await {
            Ok(imported) => count.imported(usize::try_from(imported).unwrap_or(found), found),
            // One of them stands in the way of the others.
            Err(StoreError::Invalid(_)) => {
                for (name, token) in tokens {
                    match self.tokens.import_tokens(vec![token]).await {
                        Ok(imported) => count.imported(usize::from(imported > 0), 1),
                        Err(StoreError::Invalid(reason)) => count.refused(name, reason),
                        Err(failed) => return Err(failed.into()),
                    }
                }
            }
            Err(failed) => return Err(failed.into()),
        }
        Ok(())
    }

    /// Tells of the tokens that are here, of which none lives there: so many do not end between two imports.
    async fn keep_ended(&self, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        let (mut after, mut kept) = (None, 0);
        loop {
            let page = self.tokens.token_page(self.network, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(*last);
            kept += page.len() as u64;
        }
        if kept > 0 {
            count.kept(kept, kept);
        }
        Ok(())
    }

    /// Forgets tokens of this Hydra that were rotated or revoked there since an earlier import: each that was presented would be taken for good
    /// here. Their grants are not touched: what a later token stands for is the same, and what was exchanged here goes on, whatever becomes of it
    /// there. That has not ended, and is not counted.
    async fn drop_ended(&self, count: &mut Count<'_>) -> Result<(), TakeoverError> {
        let mut after = None;
        loop {
            let page = self.tokens.token_page(self.network, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(*last);
            let signatures = page.iter().map(write_mac).collect();
            let living = self.hydra.there(Part::Tokens, signatures).await.map_err(TakeoverError::Hydra)?;
            let living: HashSet<TokenMac> =
                living.iter().filter_map(|signature| read_mac(signature)).collect();
            let ended: Vec<_> = page.into_iter().filter(|mac| !living.contains(mac)).collect();
            if !ended.is_empty() {
                count.ended(self.tokens.forget_tokens(ended).await?);
            }
        }
    }
}
