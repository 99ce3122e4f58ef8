//! What is printed, and what must hold.

/// Bounds, each with its figure.
#[derive(Default)]
pub struct Checks {
    pub passed: usize,
    pub failed: usize,
}

impl Checks {
    pub fn check(&mut self, holds: bool, what: &str) {
        if holds {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        println!("{} {what}", if holds { "ok    " } else { "FAILED" });
    }

    /// The figure is at most this.
    pub fn at_most(&mut self, what: &str, figure: f64, most: f64) {
        self.check(figure <= most, &format!("{what}: {figure:.1}, at most {most:.1}"));
    }

    /// The figure differs from another one by at most this share.
    pub fn near(&mut self, what: &str, figure: f64, other: f64, share: f64) {
        let holds = (figure - other).abs() <= share * other;
        self.check(holds, &format!("{what}: {figure:.1}, within {:.0} % of {other:.1}", share * 100.0));
    }
}

/// A number as a figure.
#[expect(clippy::cast_precision_loss, reason = "no figure here is so large")]
pub fn float(number: impl TryInto<u64>) -> f64 {
    number.try_into().unwrap_or(u64::MAX) as f64
}

/// Bytes in KiB.
pub fn kib(bytes: usize) -> f64 {
    float(bytes) / 1024.0
}

pub fn mean(figures: &[usize]) -> f64 {
    float(figures.iter().sum::<usize>()) / float(figures.len().max(1))
}
