//! The layer in front of the API server.

use std::{
    collections::VecDeque,
    future::pending,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes};
use cutover::{clock::Clock, hub::READ_TIMEOUT, sandbox::api::Change};
use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use tokio::sync::Notify;

use super::{
    super::{
        deeds,
        plan::{Bad, Fault, sorts::Late},
        server::Caller,
        world::World,
    },
    answers::{mutate, refusal},
    call::Call,
    events::Delivery,
    fate::Fate,
};

/// The layer: in front of the API server, for one instance of the hub.
#[derive(Clone)]
pub struct Layer {
    pub world: Arc<World>,
    /// The world's time, as it goes on while this instance is stepped.
    pub clock: Clock,
    pub instance: usize,
    /// Notified when this instance ends.
    pub halt: Arc<Notify>,
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, io::Error>> + Send>>;

impl tower::Service<Request<kube::client::Body>> for Layer {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Answer {
        let layer = self.clone();
        Box::pin(async move { layer.pass(request).await })
    }
}

impl Layer {
    async fn pass(self, request: Request<kube::client::Body>) -> Result<Response<Body>, io::Error> {
        self.alive().await;
        self.world.set_now(self.clock.now());
        let call = Call::of(&request);
        let (fate, index) = {
            let mut faults = self.world.faults();
            let fate = faults.fate(&call, self.instance, self.clock.now());
            (fate, faults.writes)
        };
        self.note(&call, &fate, index);
        match fate {
            Fate::CrashBefore => self.crash().await,
            Fate::StopBefore => self.stop().await,
            Fate::Answer(code, words) => return Ok(refusal(code, words)),
            Fate::Bad(Bad::Reset) => return Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            Fate::Bad(bad) if bad.status().is_some() => return Ok(refusal(bad.status().unwrap_or(500), "injected")),
            Fate::Slow(seconds) => tokio::time::sleep(Duration::from_secs_f64(seconds)).await,
            Fate::Pass
            | Fate::CrashAfter
            | Fate::StopAfter
            | Fate::Bad(_)
            | Fate::AnsweredAfter(_)
            | Fate::DoneAndTimedOut
            | Fate::Mutate
            | Fate::Stale(_) => {}
        }
        self.alive().await;
        let request = self.prepared(request, &call, &fate).await?;
        let response = self.world.server.answer(Caller::Hub, request).await;
        self.strikes_late(&call, response.status());
        if call.writes() {
            self.world.look();
            if call.plural != "leases" {
                deeds::after_write(&self.world, index);
            }
        }
        match fate {
            Fate::CrashAfter => self.crash().await,
            Fate::StopAfter => self.stop().await,
            Fate::Bad(Bad::Silent) => {
                tokio::time::sleep(READ_TIMEOUT).await;
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            Fate::Bad(_) => return Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            Fate::AnsweredAfter(seconds) => tokio::time::sleep(Duration::from_secs_f64(seconds)).await,
            Fate::DoneAndTimedOut => return Ok(refusal(504, "the request timed out")),
            _ => {}
        }
        self.alive().await;
        Ok(if call.watch && response.status().is_success() { self.watched(response, call) } else { response })
    }

    /// P24: what the call is about is not there yet.
    fn strikes_late(&self, call: &Call, status: http::StatusCode) {
        let mut faults = self.world.faults();
        let waits = match self.world.plan.fault {
            Fault::Late(Late::Kinds) => call.plural == "fleetrollouts",
            Fault::Late(Late::RouteKind) => call.plural == self.world.scenario.form.plural(),
            _ => false,
        };
        if waits && faults.active() && status == http::StatusCode::NOT_FOUND {
            faults.strike();
        }
    }

    fn note(&self, call: &Call, fate: &Fate, index: usize) {
        if call.is_lease() && *fate == Fate::Pass {
            return;
        }
        let mut faults = self.world.faults();
        let (age, calls) = (self.world.age(), faults.calls);
        let Call { method, plural, name, sub, watch, dry } = call;
        let marks = format!("{}{}", if *watch { " watch" } else { "" }, if *dry { " dry" } else { "" });
        let write = if call.writes() { format!(" w{index}") } else { String::new() };
        let fate = if *fate == Fate::Pass { String::new() } else { format!("  <-- {fate:?}") };
        faults.trace.push(format!(
            "{age:9.3}  hub-{} c{calls}{write} {method} {plural}/{name}/{sub}{marks}{fate}",
            self.instance
        ));
    }

    async fn prepared(
        &self,
        request: Request<kube::client::Body>,
        call: &Call,
        fate: &Fate,
    ) -> Result<Request<Body>, io::Error> {
        let (mut head, body) = request.into_parts();
        let bytes = body.collect_bytes().await.map_err(io::Error::other)?;
        let mut bytes = bytes.to_vec();
        if call.method == Method::DELETE && !String::from_utf8_lossy(&bytes).contains("\"uid\"") {
            self.world.faults().unguarded_delete = Some(format!("{}/{}", call.plural, call.name));
        }
        match fate {
            Fate::Mutate if mutate(self.world.scenario.form, &mut bytes) => self.world.faults().strike(),
            Fate::Stale(revision) => {
                let behind = |change: &Arc<Change>| change.revision > *revision && change.plural == call.plural;
                if self.world.server.history(0).iter().any(behind) {
                    self.world.faults().strike();
                }
                let query = head.uri.query().unwrap_or_default().to_owned();
                let kept: Vec<&str> =
                    query.split('&').filter(|part| !part.starts_with("resourceVersion") && !part.is_empty()).collect();
                let uri = format!(
                    "{}?{}&resourceVersion={revision}&resourceVersionMatch=Exact",
                    head.uri.path(),
                    kept.join("&")
                );
                head.uri = uri.parse().map_err(io::Error::other)?;
            }
            _ => {}
        }
        Ok(Request::from_parts(head, Body::from(bytes)))
    }

    /// The process is gone: it neither sends nor reads any more.
    async fn crash(&self) {
        {
            let now = self.world.now();
            self.world.faults().crash(self.instance, now);
        }
        self.halt.notify_one();
        pending::<()>().await;
    }

    async fn stop(&self) {
        let notify: Arc<Notify> = Arc::default();
        self.world.faults().stopped.insert(self.instance, notify.clone());
        self.halt.notify_one();
        notify.notified().await;
    }

    /// Waits for ever where the process was killed.
    async fn alive(&self) {
        let (killed, stopped) = {
            let faults = self.world.faults();
            (faults.is_killed(self.instance), faults.stopped.contains_key(&self.instance))
        };
        if killed {
            pending::<()>().await;
        }
        if stopped {
            // What a stopped process would send now, it sends when it goes on.
            while self.world.faults().is_stopped(self.instance) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    fn watched(&self, response: Response<Body>, call: Call) -> Response<Body> {
        let (head, body) = response.into_parts();
        let state = (self.clone(), body.into_data_stream(), call, VecDeque::new(), None::<Bytes>, false);
        let events = stream::unfold(state, |(layer, mut events, call, mut ready, mut kept, over)| async move {
            loop {
                layer.alive().await;
                if let Some(event) = ready.pop_front() {
                    return Some((Ok::<_, io::Error>(event), (layer, events, call, ready, kept, over)));
                }
                if over {
                    return None;
                }
                let event = events.next().await?.ok()?;
                let delivery = layer.world.faults().event(&call, event, &mut kept, layer.clock.now());
                match delivery {
                    Delivery::As(events) => ready.extend(events),
                    Delivery::Never => {
                        tokio::time::sleep(READ_TIMEOUT).await;
                        return Some((Err(io::ErrorKind::TimedOut.into()), (layer, events, call, ready, kept, true)));
                    }
                    Delivery::Later(thaw, event) => {
                        thaw.notified().await;
                        thaw.notify_one();
                        ready.push_back(event);
                    }
                    Delivery::Cut(last) => {
                        ready.extend(last);
                        return ready.pop_front().map(|event| (Ok(event), (layer, events, call, ready, kept, true)));
                    }
                }
            }
        });
        Response::from_parts(head, Body::from_stream(events))
    }
}
