//! The hooks of the token endpoint, from settings.

use std::sync::Arc;
use std::time::Duration;

use sluice_net::Fetcher;
use sluice_oauth::hooks::{Hook, Hooks, Webhook, WebhookKey, WebhookParts};
use sluice_oauth::keys::KeyRing;
use sluice_oauth::{Config, OAuthMetrics};
use sluice_primitives::Secret;

use super::stores::StartError;
use crate::config::{HookKeyPlace, HookSettings, HooksSettings};

/// The hooks of these settings; none if there are none.
///
/// # Errors
/// [`StartError::Setting`] if the key of a hook cannot be sent.
pub(super) fn hooks(
    settings: &HooksSettings,
    fetcher: &Arc<Fetcher>,
    (config, keys): (&Arc<Config>, &Arc<KeyRing>),
    metrics: &Arc<OAuthMetrics>,
) -> Result<Option<Hooks>, StartError> {
    let hook = |key, hook: &Option<HookSettings>| {
        hook.as_ref().map(|hook| webhook(key, hook, settings.timeout, fetcher)).transpose()
    };
    let token = hook("oauth2.token_hook.auth", &settings.token)?;
    let refresh_token = hook("oauth2.refresh_token_hook.auth", &settings.refresh_token)?;
    if token.is_none() && refresh_token.is_none() {
        return Ok(None);
    }
    let (config, keys, metrics) = (Arc::clone(config), Arc::clone(keys), Arc::clone(metrics));
    Ok(Some(Hooks { config, keys, token, refresh_token, metrics }))
}

fn webhook(
    key: &'static str,
    settings: &HookSettings,
    timeout: Duration,
    fetcher: &Arc<Fetcher>,
) -> Result<Arc<dyn Hook>, StartError> {
    let auth = settings.auth.as_ref().map(|auth| {
        let value = Secret::new(auth.value.expose().to_owned());
        match auth.place {
            HookKeyPlace::Header => WebhookKey::Header(auth.name.clone(), value),
            HookKeyPlace::Cookie => WebhookKey::Cookie(auth.name.clone(), value),
        }
    });
    let parts = WebhookParts { url: settings.url.clone(), key: auth, timeout };
    let webhook = Webhook::new(Arc::clone(fetcher), parts);
    Ok(Arc::new(webhook.map_err(|why| StartError::Setting { key, reason: why.to_string() })?))
}
