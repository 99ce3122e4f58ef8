//! The sorts of fault of each pattern.

/// Sorts of one pattern, each with the word that names it in a plan's line.
macro_rules! sorts {
    ($(#[$about:meta])* $name:ident { $($(#[$note:meta])* $sort:ident = $word:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$note])* $sort),* }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$sort),*];

            pub const fn word(self) -> &'static str {
                match self { $(Self::$sort => $word),* }
            }
        }
    };
}

sorts! {
    /// P4: something does not reach the hub.
    Blind { HoldWatch = "hold-watch", DropEvent = "drop-event", HideWrite = "hide-write" }
}

sorts! {
    /// P5: the next instance reads a cache that is behind.
    Failover {
        Behind = "behind",
        /// Meanwhile the rollout was deleted and made again under the same name.
        Recreated = "recreated",
    }
}

sorts! {
    /// P6: the leader's process is stopped, and goes on when another one leads.
    Pause { Leader = "pause-leader", LeaderLong = "pause-leader-long", InCall = "pause-in-call" }
}

sorts! {
    /// P7: leader election.
    LeaseFault {
        Lost = "lease-lost",
        Slow = "lease-slow",
        Refused = "lease-refused",
        SkewOne = "skew-one",
        Stolen = "steal-lease",
    }
}

sorts! {
    /// P8: what a member's API server and endpoints answer.
    MemberFault {
        Refused = "refused",
        Blackhole = "blackhole",
        Tls = "tls",
        Unauthorized = "401",
        Forbidden = "403",
        Slow = "slow",
        TooMany = "429",
        Huge = "huge",
        Garbage = "garbage",
        /// JSON of another kind, and without lists.
        OtherKind = "other-kind",
        Truncated = "truncated",
        Deep = "deep",
        Redirect = "redirect",
        AllRefused = "all-refused",
        AllBlackhole = "all-blackhole",
        EndpointDown = "endpoint-down",
        PrimaryDown = "primary-down",
        AllDown = "all-down",
    }
}

sorts! {
    /// P9: what a member's Prometheus answers.
    MetricsFault {
        Down = "down",
        SlowIn = "slow-in",
        SlowOut = "slow-out",
        Internal = "500",
        Unavailable = "503",
        Nan = "nan",
        PlusInfinity = "+inf",
        MinusInfinity = "-inf",
        /// So many failed requests as nobody can count.
        Negative = "negative",
        Empty = "empty",
        NoValue = "no-value",
        Null = "null",
        Histogram = "histogram",
        Two = "two",
        /// Thousands of series where one is wanted.
        Flood = "flood",
        Matrix = "matrix",
        Scalar = "scalar",
        Text = "string",
        Stale = "stale",
        Future = "future",
        Warnings = "warnings",
        OneMissing = "one-missing",
        Flapping = "flapping",
    }
}

sorts! {
    /// P10: a person edits what the hub looks after.
    Edit {
        Raise = "raise",
        Lower = "lower",
        Host = "host",
        Timeout = "timeout",
        Mark = "mark",
        Status = "status",
        /// The hub's mark, with a sequence that it never had.
        Forged = "forged",
        /// No backend has any weight: under Istio that freezes the port.
        Zero = "zero",
    }
}

sorts! {
    /// P11: a GitOps tool puts the original route back, again and again.
    Reapply { Put = "put", Merge = "merge", Apply = "apply" }
}

sorts! {
    /// P12: calls are answered badly.
    BadCalls { Once = "once", Twice = "twice", Minute = "60s" }
}

sorts! {
    /// P14: what a watch says and does not say.
    WatchFault {
        Gone = "gone",
        Bookmark = "bookmark",
        Duplicate = "duplicate",
        Reorder = "reorder",
        Cut = "cut",
        Error = "error",
        Idle = "idle",
        Older = "older",
    }
}

sorts! {
    /// P15: the clock of the machine.
    ClockFault {
        Ahead = "+1h",
        Back = "-1h",
        /// By less than what was counted before goes back.
        Behind = "-2m",
        TenYears = "+10y",
        Frozen = "frozen",
        Slew = "slew",
        /// It jumps while no instance lives.
        Across = "across",
    }
}

sorts! {
    /// P16: something is deleted.
    Deleted {
        Rollout = "rollout",
        Route = "route",
        Member = "member",
        Secret = "secret",
        Service = "service",
        Namespace = "namespace",
        Kind = "crd",
    }
}

sorts! {
    /// P17: finalizers.
    FinalizerFault {
        OursRemoved = "ours-removed",
        Foreign = "foreign",
        DeletedInRollback = "deleted-in-rollback",
        Terminating = "terminating",
    }
}

sorts! {
    /// P18: something else is declared in mid-run.
    Declared {
        Revision = "revision",
        Steps = "steps",
        Members = "members",
        Analysis = "analysis",
        Pause = "pause",
        OldTarget = "old-target",
        /// The old target, and then the new one again.
        Aba = "aba",
        /// The same route, now with the name of its rule.
        Route = "route",
    }
}

sorts! {
    /// P19: objects that the hub cannot read, there before it or made while it lives.
    Poison {
        RolloutBefore = "rollout-before",
        RolloutLive = "rollout-live",
        MemberBefore = "member-before",
        MemberLive = "member-live",
        RequestLive = "request-live",
        BrokenQuery = "broken-query",
    }
}

sorts! {
    /// P20: the members change.
    MemberChange {
        Added = "added",
        Removed = "removed",
        Renamed = "renamed",
        Rotated = "rotated",
        /// The kubeconfig of the canary names a program to run.
        Exec = "exec",
        /// It is YAML that grows when it is read.
        Bomb = "bomb",
        /// Its Secret is not for that purpose any more.
        Unlabelled = "unlabelled",
        /// Another cluster answers at the canary's address.
        Replaced = "replaced",
        /// Two names lead to one cluster.
        Twice = "twice",
        /// The canary no longer allows the rollout's namespace.
        Withdrawn = "withdrawn",
    }
}

sorts! {
    /// P21: an admission webhook for routes.
    Webhook { Deny = "deny", Mutate = "mutate", Timeout = "timeout" }
}

sorts! {
    /// P22: the hub may not do one thing.
    Forbidden { Route = "route", Status = "status", Lease = "lease", Member = "member" }
}

sorts! {
    /// P24: what the hub needs comes later than the hub.
    Late { Server = "down", Kinds = "late-crds", RouteKind = "late-route-crd" }
}

sorts! {
    /// P25: what the data plane does with routes that were written.
    DataPlaneFault {
        /// It refuses them, and serves what it served.
        Refuses = "refuses",
        /// It refuses them one moment and accepts them the next, and serves them.
        Flaps = "flaps",
        /// It serves them, and of two parents one refuses them.
        OneParent = "one-parent",
        /// It serves them, and does not find a backend without weight that they name.
        Unresolved = "unresolved",
        /// It serves them much later.
        Late = "late",
        /// It serves them, and what it says is of the generation before.
        OldConditions = "old-conditions",
        /// It serves them, and takes back all that it said.
        Silent = "silent",
        /// A foreign route stops it, until that is repaired.
        Frozen = "frozen",
    }
}

sorts! {
    /// P26: another tenant, who uses the same members.
    Tenant {
        /// It has a run of its own.
        Busy = "busy",
        /// It sends requests for rollouts that do not exist.
        Requests = "requests",
        /// The members answer its queries slowly.
        SlowQueries = "slow-queries",
        /// The members answer its queries with more than a hub can hold.
        HugeAnswers = "huge-answers",
        /// Its route carries a mark of the other rollout, far ahead.
        ForgedMark = "forged-mark",
        /// The members no longer allow its namespace.
        Withdrawn = "withdrawn",
        /// Its rollout is in the same namespace, and names the same route.
        SameRoute = "same-route",
        /// Its rollout is in the same namespace, and names the same service.
        SameService = "same-service",
    }
}

sorts! {
    /// P27: an API server that has too much to do. The lease has its own way.
    Overload {
        /// Most calls are answered when nobody waits for them any more; what they were to do is done.
        Late = "late",
        /// Most calls are put off for a second or two.
        TooMany = "429",
        /// Most calls time out inside, some of them after they were done.
        Timeout = "504",
    }
}

sorts! {
    /// P29: the rollout has alerts. The hub dies around a write or a delivery, or the service that takes them is in trouble.
    AlertFault {
        /// The hub dies after a write was committed.
        Recorded = "recorded",
        /// The hub dies when a write is about to be sent.
        Unrecorded = "unrecorded",
        /// The hub dies when a delivery is about to arrive.
        Undelivered = "undelivered",
        /// The hub dies when a delivery has arrived, before it reads the answer.
        Delivered = "delivered",
        /// The service fails three deliveries.
        Fails = "fails",
        /// The service takes a delivery and never answers.
        Hangs = "hangs",
        /// The service answers with a redirect.
        Redirects = "redirects",
        /// The service takes a delivery and answers with megabytes.
        Floods = "floods",
    }
}

impl Poison {
    /// It is there before the hub.
    pub const fn is_before(self) -> bool {
        match self {
            Self::RolloutBefore | Self::MemberBefore => true,
            Self::RolloutLive | Self::MemberLive | Self::RequestLive | Self::BrokenQuery => false,
        }
    }
}
