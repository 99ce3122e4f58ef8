//! P26: the other tenant's queries are answered late, or with more than a hub can hold.

use std::time::Duration;

use cutover::http::Answer;

use super::{
    super::{
        plan::{Fault, sorts::Tenant},
        scenario::tenant::THEIRS,
        world::World,
    },
    doors::huge,
};

/// A query that takes so long is given up.
const SLOW: Duration = Duration::from_secs(25);

/// The query is the other tenant's.
pub(super) fn sent(query: &str) -> bool {
    query.contains(THEIRS[0])
}

/// The member is well meanwhile.
pub(super) async fn answer(world: &World, query: &str) -> Option<Answer> {
    let Fault::Tenant(what) = world.plan.fault else { return None };
    if !sent(query) || !world.faults().active() {
        return None;
    }
    match what {
        Tenant::SlowQueries => {
            world.faults().strike();
            tokio::time::sleep(SLOW).await;
            None
        }
        Tenant::HugeAnswers => {
            world.faults().strike();
            Some(huge())
        }
        Tenant::Busy
        | Tenant::Requests
        | Tenant::ForgedMark
        | Tenant::Withdrawn
        | Tenant::SameRoute
        | Tenant::SameService => None,
    }
}
