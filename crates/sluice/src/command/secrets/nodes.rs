//! Whether nodes that serve open what these secrets seal, and the other way round.

use sluice_commit::StoreError;

use crate::app::{differing, secrets_shared, serving_nodes};
use crate::command::installation::Installation;

/// What is to be said of nodes that serve now; nothing where there are none.
pub(super) async fn lines(installation: &Installation) -> Result<Vec<String>, StoreError> {
    let network = installation.stores.network_id().await?;
    let own = secrets_shared(&installation.secrets, network);
    let serving = serving_nodes(&*installation.stores.repositories(), installation.clock.now()).await?;
    if serving.is_empty() {
        return Ok(Vec::new());
    }
    let differing = differing(&own, &serving);
    if differing.is_empty() {
        return Ok(vec![format!("nodes            {}, which open what these secrets seal", serving.len())]);
    }
    let lines = differing.into_iter().map(|(difference, hosts)| {
        let (setting, how) = (difference.setting, difference.how.as_str());
        format!("nodes            {} of {} differ in {setting}: {how}", hosts.len(), serving.len())
    });
    Ok(lines.collect())
}
