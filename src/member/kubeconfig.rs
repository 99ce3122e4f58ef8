//! The restricted kubeconfig: one cluster, one user, one context, everything inline, no code.
//!
//! A client library's own loader runs `exec` and `auth-provider` commands and sends local files to whatever server the text
//! names. So the text of a Secret never reaches it: what is not known to be harmless is refused by name.

mod rewrite;

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use secrecy::{SecretSlice, SecretString};
use serde_json::{Map, Value};

pub(super) use rewrite::with_token;

use super::{
    certificate::{self, CertificateProblem},
    token::{self, Renewable},
};
use crate::{
    http::{Peer, sanitise},
    yaml,
};

/// Bytes of a kubeconfig; one with two certificates has six thousand.
const LARGEST: usize = 64 << 10;

/// A kubeconfig that may be used.
#[derive(Debug)]
pub(crate) struct Kubeconfig {
    /// The API server: `https://host:port`.
    pub server: String,
    /// The name in its certificate, where it is not the host.
    pub server_name: Option<String>,
    /// Certificates to trust, PEM.
    pub roots: Vec<u8>,
    /// Who the hub is there.
    pub credentials: Credentials,
    /// What of it ends first.
    pub expires: Expiry,
}

/// When credentials end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiry {
    /// What ends.
    pub what: Ending,
    /// When.
    pub at: Timestamp,
    /// When the hub renews it, if it can.
    pub renewal: Option<Timestamp>,
}

/// What of a kubeconfig ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The certificate of the authority.
    Trust,
    /// The client certificate.
    Certificate,
    /// The token.
    Token,
}

impl Expiry {
    /// It is time for a new one. A token lives for days, certificates for months. A token that the hub renews may live for
    /// less than two days, and is no cause for a warning before it is due.
    pub(crate) fn is_soon(&self, now: Timestamp) -> bool {
        let days = match self.what {
            Ending::Trust | Ending::Certificate => 14,
            Ending::Token => 2,
        };
        self.at.duration_since(now) <= SignedDuration::from_hours(days * 24)
            && self.renewal.is_none_or(|due| due <= now)
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trust => "CA certificate",
            Self::Certificate => "client certificate",
            Self::Token => "token",
        })
    }
}

/// Who the hub is at a member.
#[derive(Debug)]
pub(crate) enum Credentials {
    /// A bearer token.
    Token(SecretString),
    /// A client certificate and its key, PEM.
    Certificate(SecretSlice<u8>),
}

/// Why a kubeconfig is not used. Names fields, never their values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// More than 64 KiB.
    #[error("TooLarge: the kubeconfig has {0} bytes; at most {LARGEST} are read")]
    TooLarge(usize),
    /// It cannot be read at all.
    #[error("Unreadable: {0}")]
    Unreadable(#[from] yaml::YamlError),
    /// It is none, or several documents.
    #[error("Unreadable: {0} YAML documents; a kubeconfig is one mapping")]
    NotOne(usize),
    /// A command that would be run.
    #[error("ExecNotAllowed: {0}; use a token or client certificate data")]
    Exec(String),
    /// A file that would be read.
    #[error("FileReferenceNotAllowed: {0}; put the content itself in, as {1}")]
    File(String, &'static str),
    /// A field that weakens or redirects the connection.
    #[error("FieldNotAllowed: {0}; {1}")]
    Field(String, &'static str),
    /// A field that is not known.
    #[error("UnknownField: {0}; remove it")]
    Unknown(String),
    /// A field of another type.
    #[error("WrongType: {0}; {1} is expected")]
    Type(String, &'static str),
    /// Something that is needed is not there.
    #[error("Missing: {0}")]
    Missing(String),
    /// More than one where one is allowed.
    #[error("Ambiguous: {0} has {1} entries; keep one")]
    Ambiguous(&'static str, usize),
    /// A name that leads nowhere.
    #[error("NotFound: {0} is {1:?}, but there is no such entry")]
    Dangling(&'static str, String),
    /// A server that is not plain https.
    #[error("BadServer: clusters[0].cluster.server: {0}")]
    Server(String),
    /// A certificate or key that cannot be used.
    #[error("{0}")]
    Certificate(#[from] CertificateProblem),
    /// Both kinds of credentials.
    #[error("Ambiguous: users[0].user has a token and a client certificate; keep one")]
    TwoCredentials,
}

/// Reads a kubeconfig as of `now`, and refuses all that is not known to be harmless.
///
/// # Errors
/// The first thing that is wrong, by field and remedy.
pub(crate) fn parse(text: &str, now: Timestamp) -> Result<Kubeconfig, Refused> {
    if text.len() > LARGEST {
        return Err(Refused::TooLarge(text.len()));
    }
    let documents = yaml::documents(text)?;
    let [document] = documents.as_slice() else { return Err(Refused::NotOne(documents.len())) };
    let root = Table::of(&document.value, String::new())?;
    root.only(&["apiVersion", "kind", "preferences", "clusters", "users", "contexts", "current-context"])?;
    let cluster = root.single("clusters", "cluster")?;
    let user = root.single("users", "user")?;
    let context = root.single("contexts", "context")?;
    check_names(&root, &cluster, &user, &context)?;
    assemble(&cluster.inner, &user.inner, now)
}

fn check_names(root: &Table, cluster: &Entry, user: &Entry, context: &Entry) -> Result<(), Refused> {
    context.inner.only(&["cluster", "user", "namespace"])?;
    for (found, field, expected) in [
        (root.text("current-context")?, "current-context", &context.name),
        (context.inner.text("cluster")?, "contexts[0].context.cluster", &cluster.name),
        (context.inner.text("user")?, "contexts[0].context.user", &user.name),
    ] {
        match found {
            None => return Err(Refused::Missing(field.to_owned())),
            Some(name) if name != expected => return Err(Refused::Dangling(field, sanitise(name))),
            Some(_) => {}
        }
    }
    Ok(())
}

fn assemble(cluster: &Table, user: &Table, now: Timestamp) -> Result<Kubeconfig, Refused> {
    cluster.only(&["server", "certificate-authority-data", "tls-server-name"])?;
    user.only(&["token", "client-certificate-data", "client-key-data"])?;
    let server = server(cluster.needed("server")?)?;
    let field = "certificate-authority-data";
    let path = cluster.path(field);
    let (roots, trusted_until) = certificate::roots(cluster.needed(field)?, &path, now)?;
    let (credentials, own) = credentials(user, now)?;
    Ok(Kubeconfig {
        server,
        server_name: cluster.text("tls-server-name")?.map(ToOwned::to_owned),
        roots,
        credentials,
        expires: first(Expiry { what: Ending::Trust, at: trusted_until, renewal: None }, own),
    })
}

fn first(trust: Expiry, own: Option<Expiry>) -> Expiry {
    own.filter(|own| own.at <= trust.at).unwrap_or(trust)
}

fn credentials(user: &Table, now: Timestamp) -> Result<(Credentials, Option<Expiry>), Refused> {
    let token = user.text("token")?;
    let (chain, key) = (user.text("client-certificate-data")?, user.text("client-key-data")?);
    match (token, chain, key) {
        (Some(token), None, None) if !token.trim().is_empty() => {
            let token = token.trim();
            let renewal = Renewable::of(token).map(|token| token.due());
            let expires = token::expiry(token).map(|at| Expiry { what: Ending::Token, at, renewal });
            Ok((Credentials::Token(SecretString::from(token)), expires))
        }
        (None, Some(chain), Some(key)) => {
            let (pem, at) = certificate::identity(chain, key, &user.path, now)?;
            Ok((Credentials::Certificate(pem), Some(Expiry { what: Ending::Certificate, at, renewal: None })))
        }
        (None, Some(_), None) => Err(Refused::Missing(user.path("client-key-data"))),
        (None, None, Some(_)) => Err(Refused::Missing(user.path("client-certificate-data"))),
        (Some(_) | None, None, None) => {
            let fields = format!("{}, or client-certificate-data and client-key-data", user.path("token"));
            Err(Refused::Missing(fields))
        }
        (Some(_), _, _) => Err(Refused::TwoCredentials),
    }
}

/// `https://host[:port]`, nothing more; what else stands there may be a secret, so it is not repeated.
fn server(address: &str) -> Result<String, Refused> {
    let bad = |why: &str| Err(Refused::Server(why.to_owned()));
    if !address.starts_with("https://") {
        return bad("https required; write https://host:port");
    }
    let Ok(peer) = Peer::at(address) else {
        return bad("not plainly https://host:port; leave out user, password, query and fragment");
    };
    if peer.base.path() != "/" {
        return bad("a path is not allowed; write https://host:port");
    }
    Ok(peer.base.to_string())
}

/// A mapping and where it stands.
struct Table<'a> {
    path: String,
    fields: &'a Map<String, Value>,
}

/// The only entry of a list of named things.
struct Entry<'a> {
    name: String,
    inner: Table<'a>,
}

impl<'a> Table<'a> {
    fn of(value: &'a Value, path: String) -> Result<Self, Refused> {
        match value.as_object() {
            Some(fields) => Ok(Self { path, fields }),
            None if path.is_empty() => Err(Refused::Type("the document".to_owned(), "a mapping")),
            None => Err(Refused::Type(path, "a mapping")),
        }
    }

    fn path(&self, field: &str) -> String {
        sanitise(&yaml::below(&self.path, field))
    }

    /// Refuses every field that is not one of these, the dangerous ones with their own words.
    fn only(&self, known: &[&str]) -> Result<(), Refused> {
        match self.fields.keys().find(|field| !known.contains(&field.as_str())) {
            Some(field) => Err(refuse(field, self.path(field))),
            None => Ok(()),
        }
    }

    fn text(&self, field: &str) -> Result<Option<&'a str>, Refused> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Err(Refused::Type(self.path(field), "a string"))
            }
        }
    }

    fn needed(&self, field: &str) -> Result<&'a str, Refused> {
        self.text(field)?.filter(|text| !text.is_empty()).ok_or_else(|| Refused::Missing(self.path(field)))
    }

    fn single(&self, list: &'static str, inner: &'static str) -> Result<Entry<'a>, Refused> {
        let entries = match self.fields.get(list) {
            None | Some(Value::Null) => return Err(Refused::Missing(list.to_owned())),
            Some(value) => value.as_array().ok_or_else(|| Refused::Type(list.to_owned(), "a list"))?,
        };
        let entry = match entries.as_slice() {
            [] => return Err(Refused::Missing(format!("{list}[0]"))),
            [entry] => Self::of(entry, format!("{list}[0]"))?,
            several => return Err(Refused::Ambiguous(list, several.len())),
        };
        entry.only(&["name", inner])?;
        let below = entry.fields.get(inner).ok_or_else(|| Refused::Missing(entry.path(inner)))?;
        Ok(Entry { name: entry.needed("name")?.to_owned(), inner: Self::of(below, entry.path(inner))? })
    }
}

/// Why a field is not allowed.
fn refuse(field: &str, path: String) -> Refused {
    const PLAIN: &str = "the hub connects directly; remove it";
    const OWN: &str = "the hub acts under the name of its own credentials; remove it";
    match field {
        "exec" | "auth-provider" => Refused::Exec(path),
        "tokenFile" => Refused::File(path, "token"),
        "certificate-authority" => Refused::File(path, "certificate-authority-data"),
        "client-certificate" => Refused::File(path, "client-certificate-data"),
        "client-key" => Refused::File(path, "client-key-data"),
        "proxy-url" => Refused::Field(path, PLAIN),
        "insecure-skip-tls-verify" => Refused::Field(path, "give certificate-authority-data instead"),
        "as" | "as-uid" | "as-groups" | "as-user-extra" => Refused::Field(path, OWN),
        "username" | "password" => Refused::Field(path, "use a token or client certificate data"),
        _ => Refused::Unknown(path),
    }
}

#[cfg(test)]
mod tests;
