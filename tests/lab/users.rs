//! Users who keep their cookies, each known to the members by a user agent of his own.

use crate::{load::connect, runner::Scene};
use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use http::{Request, header};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use std::{collections::BTreeMap, net::SocketAddr, time::Duration};
use tokio::time::timeout;

/// Requests under way at once.
const AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(5);

pub struct Users {
    to: SocketAddr,
    /// The Host header.
    host: String,
    each: Vec<User>,
}

struct User {
    agent: String,
    cookies: BTreeMap<String, String>,
}

/// The member that answered each user.
pub type Whereabouts = Vec<&'static str>;

impl Users {
    pub fn new(count: usize, to: SocketAddr, host: &str) -> Self {
        let user = |number| User { agent: format!("user-{number}"), cookies: BTreeMap::new() };
        Self { to, host: host.to_owned(), each: (0..count).map(user).collect() }
    }

    /// One request of each user; who answered it is what the members counted.
    pub async fn visit(&mut self, scene: &Scene) -> Result<Whereabouts> {
        let before = self.counted(scene);
        let (to, host) = (self.to, self.host.as_str());
        stream::iter(&mut self.each)
            .map(|user| user.visit(to, host))
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await?;
        let after = self.counted(scene);
        let answered = |(before, after): (&BTreeMap<&'static str, u64>, &BTreeMap<&'static str, u64>)| {
            let more: Vec<&'static str> =
                after.keys().copied().filter(|member| after[member] > before[member]).collect();
            ensure!(more.len() == 1, "one request of one user was counted from {before:?} to {after:?}");
            Ok(more[0])
        };
        before.iter().zip(&after).map(answered).collect()
    }

    /// Every user has a cookie of this name.
    pub fn have(&self, cookie: &str) -> bool {
        self.each.iter().all(|user| user.cookies.contains_key(cookie))
    }

    fn counted(&self, scene: &Scene) -> Vec<BTreeMap<&'static str, u64>> {
        let by = |member: &'static str, user: &User| {
            scene.member(member).gateway.tally().observed_from(&scene.namespace, &user.agent)
        };
        self.each.iter().map(|user| scene.members.keys().map(|member| (*member, by(member, user))).collect()).collect()
    }
}

impl User {
    async fn visit(&mut self, to: SocketAddr, host: &str) -> Result<()> {
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = Request::get("/").header(header::HOST, host).header(header::USER_AGENT, &self.agent);
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        let request = request.body(Empty::<Bytes>::new())?;
        let exchange = async { anyhow::Ok(connect(to).await?.send_request(request).await?) };
        let response = timeout(PATIENCE, exchange).await.context("no answer in time")??;
        ensure!(response.status() == 200, "{} was answered with {}", self.agent, response.status());
        for cookie in response.headers().get_all(header::SET_COOKIE) {
            let pair = cookie.to_str()?.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').context("a cookie has a name")?;
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        response.into_body().collect().await.context("the answer was cut short")?;
        Ok(())
    }
}
