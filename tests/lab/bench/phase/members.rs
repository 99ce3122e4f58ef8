//! What a member costs that no rollout uses.

use crate::{
    bench::{
        stats::float,
        world::{World, member_cluster},
    },
    lab::MEMBERS,
    wait::{eventually, seconds},
};
use anyhow::{Result, ensure};
use cutover::api::{MemberCluster, status::ConditionStatus};
use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    Api,
    api::{ListParams, PostParams},
};

const MORE: usize = 100;

/// KiB of the hub for each further member.
pub async fn per_member(world: &World<'_>) -> Result<f64> {
    let before = world.reading().await?.hub_memory;
    let api = Api::<MemberCluster>::all(world.client.clone());
    let made = stream::iter(0..MORE).map(|number| {
        let api = &api;
        async move {
            let member = member_cluster(&format!("idle-{number:03}"), MEMBERS[number % MEMBERS.len()]);
            api.create(&PostParams::default(), &serde_json::from_value(member)?).await?;
            anyhow::Ok(())
        }
    });
    made.buffer_unordered(8).try_collect::<()>().await?;
    eventually("healthy members", seconds(90), async || {
        let all = api.list(&ListParams::default()).await?.items;
        let healthy = all.iter().filter(|member| is_healthy(member)).count();
        ensure!(healthy == MORE + MEMBERS.len(), "{healthy} of them");
        Ok(())
    })
    .await?;
    Ok((world.reading().await?.hub_memory - before) * 1024.0 / float(MORE))
}

fn is_healthy(member: &MemberCluster) -> bool {
    let conditions = member.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|condition| condition.type_ == "Healthy" && condition.status == ConditionStatus::True)
}
