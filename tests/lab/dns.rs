//! The lab's DNS: every name under `<member>.lab` leads to that member, unless a test points it elsewhere.

use crate::lab::{MEMBERS, member_address};
use anyhow::{Context, Result};
use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::{Arc, Mutex},
};
use tokio::{net::UdpSocket, task::AbortHandle};

type Overrides = Arc<Mutex<BTreeMap<String, Option<Ipv4Addr>>>>;

/// Answers on 127.0.0.1:53 with a time to live of one second.
pub struct Dns {
    overrides: Overrides,
    server: AbortHandle,
}

impl Dns {
    pub async fn start() -> Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:53").await.context("cannot serve DNS")?;
        let overrides = Overrides::default();
        let server = tokio::spawn(serve(socket, overrides.clone())).abort_handle();
        Ok(Self { overrides, server })
    }

    /// From now on `name` leads to `address`; `None`: it does not exist.
    pub fn point(&self, name: &str, address: Option<Ipv4Addr>) {
        self.overrides.lock().unwrap().insert(name.to_owned(), address);
    }

    /// `name` leads to its own member again.
    pub fn restore(&self, name: &str) {
        self.overrides.lock().unwrap().remove(name);
    }
}

impl Drop for Dns {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(socket: UdpSocket, overrides: Overrides) {
    let mut packet = [0; 1500];
    while let Ok((length, client)) = socket.recv_from(&mut packet).await {
        if let Some(answer) = answer(&packet[..length], &overrides) {
            let _ = socket.send_to(&answer, client).await;
        }
    }
}

fn lookup(name: &str, overrides: &Overrides) -> Option<Ipv4Addr> {
    if let Some(address) = overrides.lock().unwrap().get(name) {
        return *address;
    }
    let member = name.strip_suffix(".lab")?.rsplit('.').next()?;
    MEMBERS.contains(&member).then(|| member_address(member))
}

const HEADER: usize = 12;
const TYPE_A: [u8; 2] = [0, 1];
const AUTHORITATIVE: [u8; 2] = [0x85, 0x80];
const NO_SUCH_NAME: [u8; 2] = [0x85, 0x83];

/// The reply to a query with one question; `None` for anything else.
fn answer(query: &[u8], overrides: &Overrides) -> Option<Vec<u8>> {
    let (name, end) = question(query)?;
    let kind = query.get(end..end + 2)?;
    let address = lookup(&name, overrides);
    let records = u8::from(address.is_some() && kind == TYPE_A);
    let flags = if address.is_some() { AUTHORITATIVE } else { NO_SUCH_NAME };
    let mut reply = [&query[..2], &flags, &[0, 1, 0, records, 0, 0, 0, 0], query.get(HEADER..end + 4)?].concat();
    if let (1, Some(address)) = (records, address) {
        // A pointer to the question's name, type A, class IN, 1 s to live, four bytes.
        reply.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
        reply.extend(address.octets());
    }
    Some(reply)
}

/// The name in the question, in lower case, and the offset just behind it.
fn question(query: &[u8]) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            return Some((labels.join("."), at));
        }
        labels.push(String::from_utf8_lossy(query.get(at..at + length)?).to_ascii_lowercase());
        at += length;
    }
}
