//! One source file with all of its mutants behind their switches.

use std::{cmp::Reverse, ops::Range};

use crate::{
    places::Bytes,
    sites::{Part, Site},
};

/// The text, and where in it an error of the compiler tells something about mutants.
#[derive(Debug, Default)]
pub struct LaidFile {
    pub text: String,
    /// What only one mutant needs.
    pub own: Vec<(Range<usize>, u32)>,
    /// A whole site, with its mutants.
    pub sites: Vec<(Range<usize>, Vec<u32>)>,
}

impl LaidFile {
    /// The mutants that an error at these bytes is about: one whose own text is there (true), or all of the smallest site.
    pub fn blamed(&self, bytes: &Bytes) -> Option<Vec<(u32, bool)>> {
        let holds = |range: &Range<usize>| range.start <= bytes.start && bytes.end <= range.end;
        let own = self.own.iter().filter(|(range, _)| holds(range)).min_by_key(|(range, _)| range.len());
        let site = self.sites.iter().filter(|(range, _)| holds(range)).min_by_key(|(range, _)| range.len());
        match (own, site) {
            (Some((range, mutant)), Some((around, _))) if range.len() <= around.len() => Some(vec![(*mutant, true)]),
            (_, Some((_, mutants))) => Some(mutants.iter().map(|mutant| (*mutant, false)).collect()),
            (Some((_, mutant)), None) => Some(vec![(*mutant, true)]),
            (None, None) => None,
        }
    }
}

/// Lays the sites over the source.
pub fn lay(source: &str, sites: &mut [Site]) -> LaidFile {
    // What holds another site comes before it, as does a guard before the operator that is all of it.
    sites.sort_by_key(|site| (site.bytes.start, Reverse(site.bytes.end)));
    let mut laid = LaidFile::default();
    piece(source, sites, 0, &(0..source.len()), &mut laid);
    laid
}

/// The bytes of the source with the sites inside, of which `first` is the first that may be.
fn piece(source: &str, sites: &[Site], first: usize, bytes: &Bytes, laid: &mut LaidFile) {
    let mut at = bytes.start;
    for (index, site) in sites.iter().enumerate().skip(first) {
        if site.bytes.start > bytes.end {
            break;
        }
        if site.bytes.start < at || site.bytes.end > bytes.end {
            continue;
        }
        laid.text.push_str(&source[at..site.bytes.start]);
        one(source, sites, index, laid);
        at = site.bytes.end;
    }
    laid.text.push_str(&source[at..bytes.end]);
}

fn one(source: &str, sites: &[Site], index: usize, laid: &mut LaidFile) {
    let start = laid.text.len();
    for part in &sites[index].parts {
        match part {
            Part::Text(text) => laid.text.push_str(text),
            Part::Source(bytes) => piece(source, sites, index + 1, bytes, laid),
            Part::Own(mutant, text) => {
                let start = laid.text.len();
                laid.text.push_str(text);
                laid.own.push((start..laid.text.len(), *mutant));
            }
        }
    }
    laid.sites.push((start..laid.text.len(), sites[index].mutants.clone()));
}
