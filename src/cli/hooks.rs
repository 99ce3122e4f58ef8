//! `cutover hooks`: a receiver of hooks for trying, and its gates.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use super::{CliError, Exit, Output, signals};
use crate::{
    clock::Clock,
    hook::receiver,
    http::{
        AddressRules, Client, Limits, Network, Peer, Post, SIGNATURE_HEADER, SigningKey, TIMESTAMP_HEADER, sanitise,
    },
    telemetry::{self, LogFormat},
    web,
};

/// The time that a receiver may take to open or close a gate.
const PATIENCE: Duration = Duration::from_secs(5);

/// Try hooks: a small receiver with gates and a load generator.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cutover hooks serve --listen 127.0.0.1:8090 --allow-target shop.example.com:80
  cutover hooks open shop --address http://127.0.0.1:8090
  cutover hooks close shop --address http://127.0.0.1:8090

A hook with url http://ADDRESS/gate/shop says yes while that gate is open; one with url http://ADDRESS/load makes load against
metadata.url. docs/hooks.md says what the hub sends.

Exit status: 0 done, 1 an error.")]
pub(super) struct Hooks {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Serve(Serve),
    /// Open a gate: its hooks say yes.
    Open(Gate),
    /// Close a gate: its hooks say no.
    Close(Gate),
}

/// Serve gates and a load generator until a signal ends it. Gates are in memory, and closed at the start.
#[derive(Debug, clap::Args)]
struct Serve {
    /// Address to listen at.
    #[arg(long, default_value = "127.0.0.1:8090", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Allow load against this host, as HOST:PORT; repeatable. Default: none.
    #[arg(long, value_name = "HOST:PORT")]
    allow_target: Vec<String>,
    /// Certificates that targets may have, PEM. Default: those of the system.
    #[arg(long, value_name = "FILE")]
    target_ca_file: Option<PathBuf>,
    /// Take only what is signed with the key in this file.
    #[arg(long, value_name = "FILE")]
    signing_key_file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Gate {
    /// Name of the gate.
    name: String,
    /// Address of the receiver.
    #[arg(long, default_value = "http://127.0.0.1:8090", value_name = "URL")]
    address: String,
    /// Sign with the key in this file.
    #[arg(long, value_name = "FILE")]
    signing_key_file: Option<PathBuf>,
}

impl Hooks {
    pub(super) fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        let runtime = tokio::runtime::Runtime::new().map_err(CliError::said)?;
        runtime.block_on(async {
            match self.command {
                Command::Serve(serve) => serve.run(out).await,
                Command::Open(gate) => gate.set("open", out).await,
                Command::Close(gate) => gate.set("close", out).await,
            }
        })
    }
}

impl Serve {
    async fn run(self, out: &mut Output) -> Result<Exit, CliError> {
        telemetry::init(LogFormat::default());
        let options = receiver::Options {
            signing_key: self.signing_key_file.as_ref().map(signing_key).transpose()?,
            targets: self.allow_target,
            target_roots: self.target_ca_file.as_ref().map(read).transpose()?,
            network: anywhere(),
            clock: Clock::default(),
        };
        let ended = signals::interrupted()?;
        let (address, serving) = listen(self.listen, options).await?;
        out.line(format!("gates at http://{address}/gate/NAME, load at http://{address}/load"))?;
        tokio::select! {
            () = serving => {}
            () = ended => {}
        }
        Ok(Exit::Done)
    }
}

/// Where a receiver listens, and what serves it as long as it is awaited.
pub(super) async fn listen(
    address: SocketAddr,
    options: receiver::Options,
) -> Result<(SocketAddr, impl Future<Output = ()> + Send + 'static), CliError> {
    let listener = web::listen(address)
        .await
        .map_err(|error| CliError::said(format!("cannot listen at {address}: {error}; choose another --listen")))?;
    Ok((listener.local_addr()?, web::serve_router(listener, receiver::router(options))))
}

impl Gate {
    async fn set(self, verb: &str, out: &mut Output) -> Result<Exit, CliError> {
        set(&self.address, &self.name, verb, self.signing_key_file.as_ref()).await?;
        out.line(format!("gate {}: {}", self.name, if verb == "open" { "open" } else { "closed" }))?;
        Ok(Exit::Done)
    }
}

/// Opens or closes a gate of the receiver at this address: `verb` is `open` or `close`.
pub(super) async fn set(
    address: &str,
    name: &str,
    verb: &str,
    signing_key_file: Option<&PathBuf>,
) -> Result<(), CliError> {
    let is_plain =
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter));
    if !is_plain {
        return Err(CliError::said(format!("{}: a gate's name has letters, digits and -._ only", sanitise(name))));
    }
    let client = Peer::at(address).and_then(|peer| Client::new(&peer, &anywhere())).map_err(CliError::said)?;
    let seconds = Clock::default().now().as_second();
    let mut headers = vec![(TIMESTAMP_HEADER, seconds.to_string())];
    if let Some(file) = signing_key_file {
        headers.push((SIGNATURE_HEADER, signing_key(file)?.sign(seconds, b"")));
    }
    let post = Post::new(&format!("/gate/{name}/{verb}"), &headers, Vec::new()).map_err(CliError::said)?;
    match client.deliver(post, Limits { deadline: PATIENCE, body: 0 }).await.map(|reply| reply.status) {
        Ok(200) => Ok(()),
        Ok(401) => Err(CliError::said(format!("{address} takes only what is signed: give its --signing-key-file"))),
        Ok(status) => Err(CliError::said(format!("{address} answered {status}; is it `cutover hooks serve`?"))),
        Err(error) => Err(CliError::said(format!("{address}: {error}; start it with `cutover hooks serve`"))),
    }
}

/// A person chose these addresses.
pub(super) fn anywhere() -> Network {
    let all = ["0.0.0.0/0", "::/0"].into_iter().filter_map(|net| net.parse().ok()).collect();
    Network::new(AddressRules::new(all, Vec::new()))
}

fn signing_key(file: &PathBuf) -> Result<SigningKey, CliError> {
    let key = read(file)?;
    SigningKey::of(&key).map_err(|why| CliError::said(format!("{}: {why}", file.display())))
}

fn read(file: &PathBuf) -> Result<Vec<u8>, CliError> {
    std::fs::read(file).map_err(|source| CliError::File { file: file.display().to_string(), source })
}
