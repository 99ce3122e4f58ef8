//! Plans: one run of the hub with one sort of fault, named by a line that replays it.

mod bad;
mod dice;
mod fault;
mod kind;
mod run;
pub mod sorts;

use std::{fmt, str::FromStr};

pub use bad::Bad;
pub use dice::Dice;
pub use fault::{Counted, Fault};
pub use kind::Kind;
pub use run::Run;

/// P3: after so many writes of the second life at most comes the second crash; the seed says which.
pub const SECOND_CRASHES: usize = 12;
/// P5: so many changes at most the cache is behind; the seed says how many.
pub const FAILOVERS: usize = 6;

/// One run with one sort of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plan {
    pub fault: Fault,
    pub run: Run,
    pub kind: Kind,
    /// The write, call or event at which it begins, from 1.
    pub k: usize,
    /// P12 only.
    pub bad: Bad,
    pub seed: u64,
}

impl Plan {
    /// How many seeds differ in what goes wrong, and not in chance alone.
    pub const fn seeds(&self) -> usize {
        match self.fault {
            Fault::CrashPair => SECOND_CRASHES,
            Fault::Failover(_) => FAILOVERS,
            // One member or all of them, one route or the other.
            Fault::Metrics(_) | Fault::Edit(_) | Fault::Delete(_) => 2,
            _ => 1,
        }
    }

    /// A run on the kind HTTPRoute without any fault.
    pub const fn clean(run: Run, seed: u64) -> Self {
        Self { fault: Fault::None, run, kind: Kind::GatewayApi, k: 0, bad: Bad::Conflict, seed }
    }

    /// The same without its fault.
    pub const fn reference(self) -> Self {
        Self { kind: self.kind, ..Self::clean(self.run, self.seed) }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.fault.number())?;
        if self.run != Run::Promotion {
            write!(f, " run={}", self.run.name())?;
        }
        if self.kind != Kind::GatewayApi {
            write!(f, " route={}", self.kind.name())?;
        }
        if let Some(word) = self.fault.word().filter(|_| !self.fault.is_first()) {
            write!(f, " what={word}")?;
        }
        if matches!(self.fault, Fault::BadCalls(_)) {
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
        let pattern = first.and_then(Fault::of_pattern);
        let pattern = pattern.ok_or_else(|| format!("{line}: begin with a pattern, such as P1"))?;
        let mut plan = Self { fault: pattern[0], ..Self::clean(Run::Promotion, 0) };
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("{word}: write key=value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{word}: not a number"));
            let unknown = || format!("{word}: not known");
            match key {
                "run" => plan.run = Run::ALL.into_iter().find(|run| run.name() == value).ok_or_else(unknown)?,
                "route" => plan.kind = Kind::ALL.into_iter().find(|kind| kind.name() == value).ok_or_else(unknown)?,
                "what" => {
                    let named = pattern.iter().find(|fault| fault.word() == Some(value));
                    plan.fault = *named.ok_or_else(unknown)?;
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
