//! What a Secret of the hub's own namespace is for, as its metadata says. Nobody uses it for anything else.

/// On a Secret: its [`Purpose`]. The hub sees no Secret without it.
pub const PURPOSE_LABEL: &str = "cutover.dev/purpose";
/// On a Secret with credentials for a Prometheus: the hosts to which they may be sent, as `host[:port]`, separated by
/// commas. The port is 443 unless it is given.
pub const HOSTS_ANNOTATION: &str = "cutover.dev/hosts";

/// The label of a Secret of a rollout's namespace whose keys sign calls of hooks.
pub const HOOK_PURPOSE: &str = "hook";

/// What a Secret is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// The kubeconfig of a member. It is for the server that it names itself.
    Kubeconfig,
    /// The token, or user and password, for a Prometheus.
    Prometheus,
    /// Certificates to trust.
    Ca,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Kubeconfig, Self::Prometheus, Self::Ca];

    /// The value of the label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kubeconfig => "kubeconfig",
            Self::Prometheus => "prometheus",
            Self::Ca => "ca",
        }
    }

    /// Selects the Secrets that have a purpose.
    #[must_use]
    pub fn selector() -> String {
        format!("{PURPOSE_LABEL} in ({})", Self::ALL.map(Self::as_str).join(","))
    }
}

impl std::fmt::Display for Purpose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
