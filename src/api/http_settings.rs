//! What a route that the hub makes does with requests and answers, beside sending them to a member.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Duration;

/// A name of a header.
const TOKEN: &str = "^[A-Za-z0-9!#$%&'*+.^_|~-]+$";
/// A value of a header: data planes refuse control characters.
const VALUE: &str = r"^[^\x00-\x1F\x7F]*$";
/// An origin of a page, such as `https://shop.example.com`, or `*` for any.
const ORIGIN: &str = r"^(\*|https?://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]{1,5})?)$";
const METHOD: &str = "^(GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH)$";

/// How long requests may take.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.request) || has(self.backendRequest)").message("timeouts needs request or backendRequest"),
    validation = Rule::new("(!has(self.request) || duration(self.request) >= duration('1ms')) && (!has(self.backendRequest) || duration(self.backendRequest) >= duration('1ms'))")
        .message("a timeout is 1ms or more"),
    validation = Rule::new("!has(self.request) || !has(self.backendRequest) || duration(self.backendRequest) <= duration(self.request)")
        .message("backendRequest must not be more than request")
)]
pub struct Timeouts {
    /// Until the answer to a client is complete, with all attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Duration>,
    /// Of each attempt at a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_request: Option<Duration>,
}

/// Requests that are sent again when their answer is an error.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Retries {
    /// How often a request is sent again.
    #[schemars(range(min = 1, max = 10))]
    pub attempts: u32,
    /// The answers after which it is. Default: every 5xx, and where there is no answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16), inner(range(min = 400, max = 599)))]
    pub codes: Vec<u16>,
}

/// Headers that are changed on the way.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.request) || has(self.response)").message("headers needs request or response"))]
pub struct Headers {
    /// Those of requests, before a member gets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<HeaderChange>,
    /// Those of answers, before a client gets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<HeaderChange>,
}

/// A change of headers. `Host` is not among them: `hostHeader` of a MemberCluster says which one a member gets.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.set) || has(self.add) || has(self.remove)").message("write set, add or remove"))]
pub struct HeaderChange {
    /// Each gets this value, whatever it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub set: Vec<HeaderValue>,
    /// Each gets this value beside those that it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub add: Vec<HeaderValue>,
    /// The names of those that are taken off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 256), regex(pattern = TOKEN)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub remove: Vec<String>,
}

/// A header and its value.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct HeaderValue {
    /// Its name.
    #[schemars(length(min = 1, max = 256), regex(pattern = TOKEN))]
    pub name: String,
    /// Its value.
    #[schemars(length(min = 1, max = 1024), regex(pattern = VALUE))]
    pub value: String,
}

/// Which pages of other origins may call, as browsers ask.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!('*' in self.allowOrigins) || size(self.allowOrigins) == 1").message("allowOrigins: * stands alone"),
    validation = Rule::new("!has(self.maxAge) || duration(self.maxAge) >= duration('1s')").message("maxAge: 1s or more")
)]
pub struct Cors {
    /// The origins, such as `https://shop.example.com`; `*` for any.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 253), regex(pattern = ORIGIN)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allow_origins: Vec<String>,
    /// The methods.
    #[schemars(length(min = 1, max = 9), inner(length(max = 7), regex(pattern = METHOD)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allow_methods: Vec<String>,
    /// The headers that they may send.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 256), regex(pattern = TOKEN)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allow_headers: Vec<String>,
    /// The headers of answers that they may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 256), regex(pattern = TOKEN)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub expose_headers: Vec<String>,
    /// Whether they may send cookies and other credentials.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_credentials: bool,
    /// How long a browser may remember that. Default: that of the data plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age: Option<Duration>,
}
