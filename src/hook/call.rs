//! One call of a hook: its tries, each with a deadline, and what their statuses mean.

use std::time::Duration;

use jiff::Timestamp;

use super::KEY_HEADER;
use crate::{
    api::{hook::Hook, status::Verdict},
    clock::Clock,
    http::{Client, HttpError, Limits, Network, Peer, Post, SIGNATURE_HEADER, SigningKey, TIMESTAMP_HEADER},
};

/// The time before the second try; it doubles with each further one, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Who is called, and with what.
pub(crate) struct Receiver {
    pub(crate) hook: Hook,
    /// What names the call.
    pub(crate) key: String,
    pub(crate) body: Vec<u8>,
    pub(crate) signing_key: Option<SigningKey>,
}

/// Calls a hook until it answers or no try is left: Pass for status 200, 201 or 202, Fail for every other, Unknown where nobody
/// answered; with words that repeat nothing of a body.
pub(crate) async fn call(receiver: &Receiver, network: &Network, clock: &Clock) -> (Verdict, String) {
    let client = match client(&receiver.hook, network) {
        Ok(client) => client,
        Err(error) => return (Verdict::Unknown, unreached(&error)),
    };
    let mut pause = FIRST_PAUSE;
    for tries_left in (0..=receiver.hook.retries).rev() {
        let answer = one(receiver, &client, clock.now()).await;
        let again = match &answer {
            Ok(status) => *status == 429 || *status >= 500,
            Err(HttpError::AddressNotAllowed { .. } | HttpError::BadAddress(_) | HttpError::BadCredentials(_)) => false,
            Err(_) => true,
        };
        if !again || tries_left == 0 {
            return judged(answer);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    (Verdict::Unknown, "it was not called".to_owned())
}

fn client(hook: &Hook, network: &Network) -> Result<(Client, String), HttpError> {
    let mut peer = Peer::at(&hook.url)?;
    let path = peer.base.path().to_owned();
    peer.base.set_path("");
    peer.roots = hook.ca_bundle.as_ref().map(|pem| pem.clone().into_bytes());
    peer.keep_alive = false;
    Ok((Client::new(&peer, network)?, path))
}

async fn one(receiver: &Receiver, (client, path): &(Client, String), now: Timestamp) -> Result<u16, HttpError> {
    let seconds = now.as_second();
    let mut headers = vec![(KEY_HEADER, receiver.key.clone()), (TIMESTAMP_HEADER, seconds.to_string())];
    let signature = receiver.signing_key.as_ref().map(|key| key.sign(seconds, &receiver.body));
    headers.extend(signature.map(|signature| (SIGNATURE_HEADER, signature)));
    let post = Post::new(path, &headers, receiver.body.clone())?;
    let deadline = Duration::from_millis(receiver.hook.timeout.as_millis());
    // The status says all: of the body nothing is read.
    Ok(client.deliver(post, Limits { deadline, body: 0 }).await?.status)
}

fn judged(answer: Result<u16, HttpError>) -> (Verdict, String) {
    match answer {
        Ok(status @ 200..=202) => (Verdict::Pass, format!("it answered {status}")),
        Ok(status) => (Verdict::Fail, format!("it answered {status}")),
        Err(error) => (Verdict::Unknown, unreached(&error)),
    }
}

/// The words of the client are about members.
fn unreached(error: &HttpError) -> String {
    match error {
        HttpError::AddressNotAllowed { host, address, kind } => format!(
            "{host} is {address}, {kind}, which the hub does not call; correct the url, or start the hub with --allow-addresses"
        ),
        HttpError::NotResolved(_)
        | HttpError::BadAddress(_)
        | HttpError::BadCredentials(_)
        | HttpError::Late(_)
        | HttpError::TooLarge(_)
        | HttpError::Flood
        | HttpError::Failed(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
