//! What is printed of a run.

use std::collections::BTreeMap;

use crate::{
    listed::Mutant,
    plan::{Fate, Plan},
    runner::Verdict,
};

/// The figures of one folder.
#[derive(Clone, Copy, Default)]
struct Row {
    made: usize,
    unviable: usize,
    left_out: usize,
    noticed: usize,
    missed: usize,
}

/// One line about a mutant that was tried.
pub fn line(mutant: &Mutant, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Noticed(by) => format!("noticed    {}: {by}", mutant.name),
        Verdict::Missed => format!("MISSED     {}", mutant.name),
        Verdict::Unreached => format!("UNREACHED  {}", mutant.name),
    }
}

/// The mutants that were not tried, with the reason.
pub fn not_tried(plan: &Plan) -> Vec<String> {
    let line = |(mutant, fate): (&Mutant, &Fate)| match fate {
        Fate::Laid => None,
        Fate::Unviable => Some(format!("unviable   {}", mutant.name)),
        Fate::LeftOut(why) => Some(format!("left out   {}: {why}", mutant.name)),
    };
    plan.mutants.iter().zip(&plan.fates).filter_map(line).collect()
}

/// The table of docs/reliability.md: the rate is of those that were tried.
pub fn table(plan: &Plan, verdicts: &[(u32, Verdict)]) -> String {
    let verdicts: BTreeMap<u32, &Verdict> = verdicts.iter().map(|(number, verdict)| (*number, verdict)).collect();
    let mut rows = BTreeMap::<String, Row>::new();
    for (number, (mutant, fate)) in (0..).zip(plan.mutants.iter().zip(&plan.fates)) {
        for folder in [mutant.folder(), "together".to_owned()] {
            rows.entry(folder).or_default().count(fate, verdicts.get(&number).copied());
        }
    }
    let rows: String = rows.iter().map(|(folder, row)| row.text(folder)).collect();
    format!(
        "| folder | made | unviable | left out | tried | noticed | missed | rate |\n|---|---|---|---|---|---|---|---|\n{rows}"
    )
}

impl Row {
    fn count(&mut self, fate: &Fate, verdict: Option<&Verdict>) {
        self.made += 1;
        match (fate, verdict) {
            (Fate::Unviable, _) => self.unviable += 1,
            (Fate::LeftOut(_), _) => self.left_out += 1,
            (Fate::Laid, None) => {}
            (Fate::Laid, Some(Verdict::Noticed(_))) => self.noticed += 1,
            (Fate::Laid, Some(Verdict::Missed | Verdict::Unreached)) => self.missed += 1,
        }
    }

    fn text(self, folder: &str) -> String {
        let Self { made, unviable, left_out, noticed, missed } = self;
        let tried = noticed + missed;
        let rate = 100 * noticed / tried.max(1);
        format!("| `{folder}` | {made} | {unviable} | {left_out} | {tried} | {noticed} | {missed} | {rate} % |\n")
    }
}
