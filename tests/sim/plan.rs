//! Plans: one run of the hub with one sort of fault, named by a line that replays it.

use std::{fmt, str::FromStr};

/// What the hub is asked to do in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Run {
    /// All traffic of one service with two routes moves to a new member; the first step waits for a person.
    Promotion,
    /// Two services move in lockstep.
    Fleet,
    /// The canary fails at its second step.
    Rollback,
    /// Another target is declared in mid-run.
    Retarget,
    /// The rollout is deleted in mid-run.
    Deletion,
    /// Service mode: the Service is pointed at another cluster.
    Service,
    /// A step by weight, then copies of requests, then those with a header, then the rest by weight.
    Mixed,
}

impl Run {
    pub const ALL: [Self; 7] =
        [Self::Promotion, Self::Fleet, Self::Rollback, Self::Retarget, Self::Deletion, Self::Service, Self::Mixed];

    /// What the pattern does can be done in this run: some deeds are about the members that a rollout declares.
    pub const fn suits(self, pattern: u8) -> bool {
        !matches!(self, Self::Service) || matches!(pattern, 1..=9 | 12..=15 | 21 | 22 | 24)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Promotion => "promotion",
            Self::Fleet => "fleet",
            Self::Rollback => "rollback",
            Self::Retarget => "retarget",
            Self::Deletion => "deletion",
            Self::Service => "service",
            Self::Mixed => "mixed",
        }
    }
}

/// What is wrong with an answer of the hub's API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bad {
    Conflict,
    TooMany,
    Internal,
    Unavailable,
    GatewayTimeout,
    /// The connection breaks before anything was done.
    Reset,
    /// It was done, and no answer comes.
    Lost,
}

impl Bad {
    pub const ALL: [Self; 7] = [
        Self::Conflict,
        Self::TooMany,
        Self::Internal,
        Self::Unavailable,
        Self::GatewayTimeout,
        Self::Reset,
        Self::Lost,
    ];

    pub const fn status(self) -> Option<u16> {
        match self {
            Self::Conflict => Some(409),
            Self::TooMany => Some(429),
            Self::Internal => Some(500),
            Self::Unavailable => Some(503),
            Self::GatewayTimeout => Some(504),
            Self::Reset | Self::Lost => None,
        }
    }
}

/// The patterns of the catalogue, each with its variants.
pub const PATTERNS: [(u8, &[&str]); 23] = [
    (1, &["crash-after"]),
    (2, &["crash-before"]),
    (3, &["crash-pair"]),
    (4, &["hold-watch", "drop-event", "hide-write"]),
    (5, &["stale-failover"]),
    (6, &["pause-leader", "pause-leader-long", "pause-in-call"]),
    (7, &["lease-lost", "lease-slow", "lease-refused", "skew-one", "steal-lease"]),
    (
        8,
        &[
            "refused",
            "blackhole",
            "tls",
            "401",
            "403",
            "slow",
            "429",
            "huge",
            "garbage",
            "redirect",
            "all-refused",
            "all-blackhole",
            "endpoint-down",
            "primary-down",
            "all-down",
        ],
    ),
    (
        9,
        &[
            "down",
            "slow-in",
            "slow-out",
            "500",
            "503",
            "nan",
            "+inf",
            "-inf",
            "empty",
            "no-value",
            "two",
            "matrix",
            "scalar",
            "string",
            "stale",
            "warnings",
            "one-missing",
            "flapping",
        ],
    ),
    (10, &["raise", "lower", "host", "timeout", "mark", "status"]),
    (11, &["put", "merge", "force"]),
    (12, &["once", "twice", "60s"]),
    (13, &["storm"]),
    (14, &["gone", "bookmark", "duplicate", "reorder", "cut", "error", "idle", "older"]),
    (15, &["+1h", "-1h", "+10y", "frozen", "slew", "across"]),
    (16, &["rollout", "route", "member", "secret", "service", "namespace", "crd"]),
    (17, &["ours-removed", "foreign", "deleted-in-rollback", "terminating"]),
    (18, &["revision", "steps", "members", "analysis", "pause", "old-target", "aba"]),
    (19, &["rollout-before", "rollout-live", "member-before", "member-live", "request-live", "broken-query"]),
    (20, &["added", "removed", "renamed", "rotated", "twice"]),
    (21, &["deny", "mutate", "timeout"]),
    (22, &["route", "status", "lease", "member"]),
    (24, &["down", "late-crds", "late-route-crd"]),
];

/// One run with one sort of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plan {
    /// Pattern of the catalogue; 0 is none.
    pub pattern: u8,
    /// Variant of the pattern.
    pub what: usize,
    pub run: Run,
    /// The write, call or event at which it begins, from 1.
    pub k: usize,
    /// P12 only.
    pub bad: Bad,
    pub seed: u64,
}

impl Plan {
    pub const fn clean(run: Run, seed: u64) -> Self {
        Self { pattern: 0, what: 0, run, k: 0, bad: Bad::Conflict, seed }
    }

    pub fn variant(&self) -> &'static str {
        variants(self.pattern).get(self.what).copied().unwrap_or_default()
    }
}

pub fn variants(pattern: u8) -> &'static [&'static str] {
    PATTERNS.iter().find(|(number, _)| *number == pattern).map_or(&[], |(_, variants)| *variants)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.pattern)?;
        if self.run != Run::Promotion {
            write!(f, " run={}", self.run.name())?;
        }
        if self.what > 0 {
            write!(f, " what={}", self.variant())?;
        }
        if self.pattern == 12 {
            write!(f, " bad={:?}", self.bad)?;
        }
        write!(f, " k={} seed={}", self.k, self.seed)
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let first = words.next().and_then(|word| word.strip_prefix('P')).and_then(|number| number.parse().ok());
        let pattern = first.ok_or_else(|| format!("{line}: begin with a pattern, such as P1"))?;
        let mut plan = Self { pattern, ..Self::clean(Run::Promotion, 0) };
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("{word}: write key=value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{word}: not a number"));
            let unknown = || format!("{word}: not known");
            match key {
                "run" => plan.run = Run::ALL.into_iter().find(|run| run.name() == value).ok_or_else(unknown)?,
                "what" => {
                    plan.what = variants(pattern).iter().position(|name| *name == value).ok_or_else(unknown)?;
                }
                "bad" => {
                    plan.bad = Bad::ALL.into_iter().find(|bad| format!("{bad:?}") == value).ok_or_else(unknown)?;
                }
                "k" => plan.k = usize::try_from(number()?).map_err(|error| error.to_string())?,
                "seed" => plan.seed = number()?,
                _ => return Err(unknown()),
            }
        }
        Ok(plan)
    }
}

/// A generator of its own, so that a seed means the same for ever (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % (sides.max(1) as u64)).unwrap_or_default()
    }
}
