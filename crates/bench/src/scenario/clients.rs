//! Clients, by Hydra's admin API: one is read, a page is listed, one is made.

use async_trait::async_trait;

use super::support::application::{Application, Wanted, encoded};
use super::support::tokens::differ;
use super::support::{crowd, field, prepared};
use super::{ListClientsOptions, Scenario};
use crate::driver::{Agent, Ask, Failure, Origin, Receipt};
use crate::target::Target;

const PATH: &str = "/admin/clients";
/// What a client is made with.
const METADATA: &str = r#"{"client_name":"Benchmark","grant_types":["authorization_code","refresh_token"],"response_types":["code"],"scope":"openid offline_access","redirect_uris":["http://127.0.0.1:4446/callback"]}"#;

/// `GET` of one.
#[derive(Default)]
pub(super) struct GetClient {
    made: Option<Made>,
}

struct Made {
    id: String,
    path: String,
}

#[async_trait(?Send)]
impl Scenario for GetClient {
    async fn prepare(&mut self, target: &Target, _users: usize) -> Result<(), Failure> {
        let client = Application::registered(&mut crowd::alone(target), &Wanted::default()).await?;
        let path = format!("{PATH}/{}", encoded(&client.id));
        self.made = Some(Made { id: client.id, path });
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        const STEP: &str = "client";
        let Made { id, path } = prepared(self.made.as_ref())?;
        let answer = agent.send(&Ask::get(Origin::Admin, path)).await?.expect(200, STEP)?;
        if field::CLIENT_ID.required(&answer, STEP)? != *id {
            return Err(Failure::Incomplete { step: STEP, missing: "the client that was asked for" });
        }
        Ok(())
    }
}

/// `GET` of a page.
pub(super) struct ListClients {
    options: ListClientsOptions,
    path: String,
    /// Bytes of a page, as it was before the run.
    length: Option<usize>,
}

impl ListClients {
    pub(super) fn new(options: ListClientsOptions) -> Self {
        let path = format!("{PATH}?page_size={}", options.page);
        Self { options, path, length: None }
    }

    /// Clients on the page, and its length.
    async fn look(&self, agent: &mut Agent) -> Result<(usize, usize), Failure> {
        let answer = agent.send(&Ask::get(Origin::Admin, &self.path)).await?.expect(200, "clients")?;
        Ok((field::CLIENT_ID.count(answer.body()), answer.body().len()))
    }
}

#[async_trait(?Send)]
impl Scenario for ListClients {
    async fn prepare(&mut self, target: &Target, _users: usize) -> Result<(), Failure> {
        let mut agent = crowd::alone(target);
        let (there, _) = self.look(&mut agent).await?;
        crowd::each(target, self.options.page.saturating_sub(there), async |agent, _| create(agent).await)
            .await?;
        let (there, length) = self.look(&mut agent).await?;
        if there != self.options.page {
            let page = self.options.page;
            return Err(Failure::Setup(format!("the server lists {there} clients on a page of {page}")));
        }
        self.length = Some(length);
        Ok(())
    }

    /// That a page is as long as it was says that it is full; to count what is on it would cost the driver too much.
    async fn operate(&self, agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        let length = *prepared(self.length.as_ref())?;
        let answer = agent.send(&Ask::get(Origin::Admin, &self.path)).await?.expect(200, "clients")?;
        if answer.body().len() < length / 10 * 9 {
            return Err(Failure::Incomplete { step: "clients", missing: "a part of the page" });
        }
        Ok(())
    }
}

/// `POST` of one.
#[derive(Default)]
pub(super) struct CreateClient;

#[async_trait(?Send)]
impl Scenario for CreateClient {
    async fn prepare(&mut self, target: &Target, _users: usize) -> Result<(), Failure> {
        let mut agent = crowd::alone(target);
        let (one, other) = (create(&mut agent).await?, create(&mut agent).await?);
        differ(&one, &other, "client")
    }

    async fn operate(&self, agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        let id = create(agent).await?;
        agent.record(|| Receipt::ClientCreated { id });
        Ok(())
    }
}

/// Makes a client; its id.
async fn create(agent: &mut Agent) -> Result<String, Failure> {
    const STEP: &str = "client creation";
    let answer = agent.send(&Ask::json("POST", Origin::Admin, PATH, METADATA)).await?.expect(201, STEP)?;
    Ok(field::CLIENT_ID.required(&answer, STEP)?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_are_json() {
        let metadata: serde_json::Value = serde_json::from_str(METADATA).unwrap();
        assert_eq!(metadata["response_types"], serde_json::json!(["code"]));
    }
}
