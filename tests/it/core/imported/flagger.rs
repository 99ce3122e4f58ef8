//! What Flagger's scheduler does with a Canary whose checks all pass and whose gates are open: one weight per tick.

use serde_json::Value;

/// Ticks after which a run that does not advance is given up.
const ENOUGH: usize = 3;

struct Scheduler<'c> {
    analysis: &'c Value,
    provider: &'c str,
    weight: u64,
    iterations: u64,
    mirrored: bool,
    shown: Vec<String>,
}

/// The canary's weight at each tick from the first routing on, with what is steered to it; `|` is the promotion.
pub(super) fn ticks(canary: &Value) -> String {
    let (analysis, provider) = (&canary["spec"]["analysis"], canary["spec"]["provider"].as_str().unwrap());
    let mut scheduler = Scheduler { analysis, provider, weight: 0, iterations: 0, mirrored: false, shown: Vec::new() };
    if canary["spec"]["skipAnalysis"] != true {
        while scheduler.advances() {
            if scheduler.is_stuck() {
                return format!("{} …", scheduler.shown[..ENOUGH].join(" "));
            }
        }
    }
    scheduler.promote();
    scheduler.shown.join(" ")
}

impl Scheduler<'_> {
    fn number(&self, key: &str) -> u64 {
        self.analysis[key].as_u64().unwrap_or(0)
    }

    fn is_test(&self) -> bool {
        self.provider != "kubernetes" && self.analysis["match"].as_array().is_some_and(|tests| !tests.is_empty())
    }

    /// One tick; nothing is left to do where it promotes.
    fn advances(&mut self) -> bool {
        let all =
            if self.provider == "kubernetes" { self.number("iterations").max(1) } else { self.number("iterations") };
        if all > 0 { self.iterates(all) } else { self.increases() }
    }

    fn iterates(&mut self, all: u64) -> bool {
        match (self.is_test(), self.iterations) {
            (true, done) if done < all => self.show("test"),
            (false, done) if done < all && self.analysis["mirror"] == true => self.show("copies"),
            (false, done) if done < all => self.show("0"),
            (false, done) if done == all => {
                self.weight = 100;
                self.show("100");
            }
            (true | false, _) => return false,
        }
        self.iterations += 1;
        true
    }

    fn increases(&mut self) -> bool {
        let listed: Vec<u64> =
            self.analysis["stepWeights"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let step = self.number("stepWeight");
        let most = match (step, listed.last()) {
            (0, Some(last)) => (*last).min(100),
            _ => self.analysis["maxWeight"].as_u64().unwrap_or(100),
        };
        if self.weight >= most {
            return false;
        }
        // Only Istio's router answers that it mirrors; elsewhere Flagger tries that again and again.
        if self.analysis["mirror"] == true && self.weight == 0 && !self.mirrored {
            self.mirrored = self.provider == "istio";
            self.show("copies");
            return true;
        }
        self.weight = match step {
            0 => listed.iter().copied().find(|weight| *weight > self.weight).unwrap_or(100).min(100),
            step => (self.weight + step).min(100),
        };
        let shown = self.weight.to_string();
        self.show(&shown);
        true
    }

    /// Traffic goes back to the primary at once, or step by step.
    fn promote(&mut self) {
        self.show("|");
        let step = match self.number("stepWeightPromotion") {
            0 => 100,
            step => step,
        };
        loop {
            self.weight = self.weight.saturating_sub(step);
            let shown = self.weight.to_string();
            self.show(&shown);
            if self.weight == 0 {
                break;
            }
        }
    }

    fn show(&mut self, shown: &str) {
        self.shown.push(shown.to_owned());
    }

    fn is_stuck(&self) -> bool {
        self.weight == 0 && self.iterations == 0 && self.shown.len() > ENOUGH
    }
}
