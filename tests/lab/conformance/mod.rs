//! The same requests to the sandbox's API server and to a real one, and their answers compared.
//!
//! The cases are text, a file per semantic in `cases/`; `generate` makes more of them from a seed. What differs on
//! purpose is in `differences`, each with its reason.

mod case;
mod differences;
mod generate;
mod kinds;
mod mask;
mod side;

use anyhow::{Result, ensure};
use case::Case;
use kube::Client;
use side::Side;

/// How many differences may be on purpose.
const MOST: usize = 15;

/// The files of cases.
const FILES: &[(&str, &str)] = &[
    ("create", include_str!("cases/create.txt")),
    ("update", include_str!("cases/update.txt")),
    ("conflicts", include_str!("cases/conflicts.txt")),
    ("status", include_str!("cases/status.txt")),
    ("deletion", include_str!("cases/deletion.txt")),
    ("patches", include_str!("cases/patches.txt")),
    ("managed_fields", include_str!("cases/managed_fields.txt")),
    ("dry_run", include_str!("cases/dry_run.txt")),
    ("lists", include_str!("cases/lists.txt")),
    ("watches", include_str!("cases/watches.txt")),
    ("schemas", include_str!("cases/schemas.txt")),
    ("built_in", include_str!("cases/built_in.txt")),
    ("events", include_str!("cases/events.txt")),
    ("paths", include_str!("cases/paths.txt")),
];

/// Two servers, in the same state.
pub struct Pair {
    real: Side,
    sandbox: Side,
}

impl Pair {
    /// Brings the sandbox to where the real server is: a namespace, the kinds of the cases and of cutover.
    pub async fn new(real: Client, sandbox: Client, namespace: &str) -> Result<Self> {
        let (mut real, mut sandbox) = (Side::new(real), Side::new(sandbox));
        namespace.clone_into(&mut real.namespace);
        sandbox.enter(namespace).await?;

        for definition in kinds::definitions()? {
            kinds::install(&mut real, &definition).await?;
            kinds::install(&mut sandbox, &definition).await?;
        }
        Ok(Self { real, sandbox })
    }

    /// What the two say differently, if they do.
    async fn compare(&mut self, case: &Case) -> Result<Option<String>> {
        let (real, sandbox) = tokio::join!(self.real.ask(case), self.sandbox.ask(case));
        let (real, sandbox) = (real?, sandbox?);
        Ok((real != sandbox).then(|| format!("{case}\n  real:    {real}\n  sandbox: {sandbox}")))
    }

    fn begin_group(&mut self) {
        self.real.forget();
        self.sandbox.forget();
    }
}

/// Every case of the files: those that differ must be the ones that are listed, all of them.
pub async fn by_hand(pair: &mut Pair) -> Result<usize> {
    let (mut wrong, mut differ, mut count) = (Vec::new(), Vec::new(), 0);
    for (semantic, text) in FILES {
        pair.begin_group();
        for case in Case::read(text)? {
            count += 1;
            let name = format!("{semantic}: {case}");
            match (pair.compare(&case).await?, differences::reason(&name)) {
                (Some(_), Some(_)) => differ.push(name),
                (Some(difference), None) => wrong.push(format!("{semantic}: {difference}")),
                (None, _) => {}
            }
        }
    }
    let idle = differences::ALL.iter().filter(|listed| !differ.iter().any(|name| name.starts_with(listed.0)));
    wrong.extend(idle.map(|listed| format!("listed as different, but it is not: {}", listed.0)));
    ensure!(wrong.is_empty(), "{} of {count} cases:\n{}", wrong.len(), wrong.join("\n"));
    ensure!(differ.len() <= MOST, "{} differences, {MOST} are allowed", differ.len());
    Ok(count)
}

/// So many requests, made from a seed.
pub async fn generated(pair: &mut Pair, seed: u64, requests: usize) -> Result<()> {
    // What other cases left behind would be listed too.
    let namespace = format!("conformance-{seed}");
    pair.real.enter(&namespace).await?;
    pair.sandbox.enter(&namespace).await?;
    pair.begin_group();
    let mut wrong = Vec::new();
    for case in generate::cases(seed, requests) {
        wrong.extend(pair.compare(&case).await?);
    }
    ensure!(wrong.is_empty(), "seed {seed}, {} of {requests}:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}
