//! Registrations: an address of its own for each, over all runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use super::support::hardening::Hardening;
use super::support::{people, prepared, proof};
use super::{HardeningOptions, Scenario};
use crate::driver::{Agent, Failure, Observer, Receipt};
use crate::target::Target;

/// Somebody registers.
#[derive(Default)]
pub(super) struct Register {
    run: Option<u64>,
    /// Of the next person. Turns begin again with each run, people do not.
    next: AtomicU64,
    registered: Arc<AtomicU64>,
}

impl Register {
    /// How many have registered, over all runs.
    pub(super) fn registered(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.registered)
    }
}

#[async_trait(?Send)]
impl Scenario for Register {
    async fn prepare(&mut self, _target: &Target, _users: usize) -> Result<(), Failure> {
        self.run = Some(proof::random_number()?);
        Ok(())
    }

    async fn operate(&self, agent: &mut Agent, _turn: u64) -> Result<(), Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let person = people::person(*prepared(self.run.as_ref())?, number);
        people::register(agent, &person).await?;
        self.registered.fetch_add(1, Ordering::Relaxed);
        agent.record(|| Receipt::Registered { email: person.name, password: person.password });
        Ok(())
    }
}

/// Somebody registers, and the server makes Argon2id of the password behind their back.
pub(super) struct RegisterHarden {
    register: Register,
    hardening: Hardening,
}

impl RegisterHarden {
    pub(super) fn new(options: &HardeningOptions) -> Self {
        let register = Register::default();
        let hardening = Hardening::of(register.registered(), options.drain);
        Self { register, hardening }
    }
}

#[async_trait(?Send)]
impl Scenario for RegisterHarden {
    async fn prepare(&mut self, target: &Target, users: usize) -> Result<(), Failure> {
        self.register.prepare(target, users).await?;
        if self.hardening.prepare(target).await? {
            return Ok(());
        }
        Err(Failure::Setup("the server does not say how many it has hardened".to_owned()))
    }

    async fn operate(&self, agent: &mut Agent, turn: u64) -> Result<(), Failure> {
        self.register.operate(agent, turn).await
    }

    /// What a warm-up has left is hardened beside the run, as it is where people never cease to register.
    async fn begin(&self, target: &Target, _observer: &dyn Observer) -> Result<(), Failure> {
        self.hardening.begin(target).await
    }

    async fn finish(
        &self,
        target: &Target,
        observer: &dyn Observer,
    ) -> Result<Vec<(String, String)>, Failure> {
        self.hardening.finish(target, observer).await
    }
}
