//! Where a member is reached.

use crate::api::member::HostHeader;

/// Where the hub's data plane reaches a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// A DNS name.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Name in the SNI extension; `None` where no TLS is spoken.
    pub server_name: Option<String>,
    /// The Host header of requests to the member.
    pub host_header: HostHeader,
}
