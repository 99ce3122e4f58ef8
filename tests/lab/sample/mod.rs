//! A sample of the simulator's plans on a real API server: the same world, hub, fault layer, judge and end check.

mod chosen;
mod names;
mod past;
mod rights;
mod target;
mod tenant;
mod watches;

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use http::Request;
use jiff::{SignedDuration, Timestamp, Unit};
use kube::Client;
use tokio::runtime::Handle;

use crate::{
    apiserver::{HUB_GROUP, HUB_USER},
    simulator::{
        drive::{self, Outcome},
        instance::PANICS,
        plan::{Plan, Run},
        world::World,
    },
    wait::{eventually, seconds},
};
use chosen::References;
pub use rights::everywhere;
use tenant::Tenant;

/// Plans side by side.
const AT_A_TIME: usize = 4;
/// A plan's world begins before the server's time: a request that the server dates is never too old for the hub.
const AHEAD: SignedDuration = SignedDuration::from_hours(1);

/// One API server, and the plans that were made on it.
pub struct Sample {
    client: Client,
    io: Handle,
    next: AtomicUsize,
}

impl Sample {
    pub fn new(client: Client, io: Handle) -> Self {
        static COUNTED: Once = Once::new();
        COUNTED.call_once(|| {
            let previous = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                PANICS.with(|panics| panics.set(panics.get() + 1));
                previous(panic);
            }));
        });
        Self { client, io, next: AtomicUsize::new(1) }
    }

    /// Waits until the hub may watch every kind: those that were just defined, and roles, are not there at once.
    pub async fn ready(&self) -> Result<()> {
        for path in tenant::HISTORY.into_iter().filter(|path| !path.ends_with("events") && !path.ends_with("leases")) {
            eventually(path, seconds(20), async || {
                let request = Request::get(format!("{path}?watch=true&timeoutSeconds=1"));
                let request = request.header("Impersonate-User", HUB_USER).header("Impersonate-Group", HUB_GROUP);
                let status = self.client.send(request.body(Vec::new().into())?).await?.status();
                ensure!(status.is_success(), "{status}");
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// The sample; what it is compared with comes first.
    pub fn all(&self) -> Vec<Outcome> {
        let clean: Vec<Plan> = Run::ALL.into_iter().flat_map(|run| [0, 1].map(|seed| Plan::clean(run, seed))).collect();
        let references = self.made(&clean, &References::new());
        if references.iter().any(|outcome| !outcome.broken.is_empty()) {
            return references;
        }
        let references =
            references.into_iter().map(|outcome| ((outcome.plan.run, outcome.plan.seed), outcome)).collect();
        self.made(&chosen::plans(&references), &references)
    }

    /// One plan, and what it is compared with.
    pub fn replayed(&self, plan: Plan) -> Outcome {
        let reference = self.run(Plan::clean(plan.run, plan.seed % 2), None);
        self.run(plan, Some(&reference))
    }

    fn made(&self, plans: &[Plan], references: &References) -> Vec<Outcome> {
        let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        std::thread::scope(|threads| {
            for _ in 0..AT_A_TIME {
                threads.spawn(|| {
                    while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let outcome = self.run(*plan, references.get(&(plan.run, plan.seed % 2)));
                        outcomes.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
                    }
                });
            }
        });
        outcomes.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, plan: Plan, reference: Option<&Outcome>) -> Outcome {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut tenant = None;
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let genesis = (Timestamp::now() - AHEAD).round(Unit::Second).expect("a time");
            let world = World::on(plan, genesis, |time| {
                let made = Tenant::new(number, self.client.clone(), self.io.clone(), lag(plan), time);
                Arc::new(tenant.insert(made).clone())
            });
            drive::run_in(world, reference)
        }));
        tenant.iter().for_each(Tenant::end);
        made.unwrap_or_else(|_| unfinished(plan))
    }
}

/// How much later than the writer's answer a watch of the hub gets the event.
fn lag(plan: Plan) -> Duration {
    Duration::from_millis(match plan.seed % 3 {
        0 => 0,
        1 => 20,
        _ => 200,
    })
}

/// A plan that ended in a panic outside of the hub.
fn unfinished(plan: Plan) -> Outcome {
    let broken = vec!["it was not finished: a panic in the world around the hub".to_owned()];
    let (written, end) = (BTreeMap::new(), BTreeMap::new());
    Outcome {
        plan,
        broken,
        story: Vec::new(),
        struck: false,
        writes: 0,
        calls: 0,
        events: 0,
        written,
        course: Vec::new(),
        end,
    }
}
