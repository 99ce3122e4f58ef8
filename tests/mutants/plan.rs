//! All mutants of a run and what becomes of each before any test runs.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{
    blame,
    compiler::Complaint,
    known::Known,
    laid::{LaidFile, lay},
    listed::{Mutant, Position},
    places::{Bytes, Places},
    sites::{self, Site},
};

/// A mutant in the copy, or why it is not there.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Fate {
    Laid,
    /// It does not compile; cargo-mutants says so too.
    Unviable,
    /// It might compile, but has no switch.
    LeftOut(String),
}

/// The mutants, by their numbers.
pub struct Plan {
    pub mutants: Vec<Mutant>,
    pub fates: Vec<Fate>,
    sources: BTreeMap<String, Source>,
}

struct Source {
    text: String,
    places: Places,
    lines: Vec<usize>,
}

impl Plan {
    /// Reads the sources of these mutants from `root`.
    pub fn new(root: &Path, mutants: Vec<Mutant>, known: &Known) -> Result<Self> {
        let mut sources = BTreeMap::new();
        for mutant in &mutants {
            if !sources.contains_key(&mutant.file) {
                sources.insert(mutant.file.clone(), Source::read(&root.join(&mutant.file))?);
            }
        }
        let fates = mutants.iter().map(|mutant| known.get(&sources[&mutant.file].text, mutant)).collect();
        Ok(Self { mutants, fates, sources })
    }

    /// Lays what is still to be laid over the files in `root`.
    pub fn write(&mut self, root: &Path) -> Result<BTreeMap<String, LaidFile>> {
        let mut files = BTreeMap::new();
        for (name, source) in &self.sources {
            let mut sites = source.sites(name, &self.mutants, &mut self.fates);
            let laid = lay(&source.text, &mut sites);
            fs::write(root.join(name), &laid.text).with_context(|| format!("writing {name}"))?;
            files.insert(name.clone(), laid);
        }
        Ok(files)
    }

    /// Takes out the mutants that the compiler complains about; how many these are.
    pub fn take_out(&mut self, complaints: &[Complaint], files: &BTreeMap<String, LaidFile>) -> usize {
        let before = self.laid().count();
        for complaint in complaints {
            for (number, own) in blame::blamed(complaint, files) {
                let fate = if own { Fate::Unviable } else { Fate::LeftOut(complaint.message.clone()) };
                self.fates[number as usize] = fate;
            }
        }
        before - self.laid().count()
    }

    /// What a later run need not find out again.
    pub fn known(&self) -> Known {
        let all = self.mutants.iter().zip(&self.fates);
        Known::of(all.map(|(mutant, fate)| (self.sources[&mutant.file].text.as_str(), mutant, fate)))
    }

    /// The numbers of the mutants in the copy.
    pub fn laid(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(&self.fates).filter(|(_, fate)| **fate == Fate::Laid).map(|(number, _)| number)
    }
}

impl Source {
    fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        let places = Places::of(&text).with_context(|| path.display().to_string())?;
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Ok(Self { text, places, lines })
    }

    fn sites(&self, name: &str, mutants: &[Mutant], fates: &mut [Fate]) -> Vec<Site> {
        let mut by_place = BTreeMap::<usize, Vec<(u32, &Mutant)>>::new();
        for (number, mutant) in (0_u32..).zip(mutants).filter(|(_, mutant)| mutant.file == name) {
            let fate = &mut fates[number as usize];
            if *fate != Fate::Laid {
                continue;
            }
            match self.place(mutant) {
                Ok(place) => by_place.entry(place).or_default().push((number, mutant)),
                Err(why) => *fate = Fate::LeftOut(why.to_owned()),
            }
        }
        let of_place =
            |(place, mutants): (&usize, &Vec<_>)| sites::site(&self.places.found[*place], mutants, &self.text);
        let mut sites: Vec<Site> = by_place.iter().map(of_place).collect();
        sites.extend(self.without_const(&sites));
        sites
    }

    fn place(&self, mutant: &Mutant) -> Result<usize, &'static str> {
        let bytes = self.byte(mutant.span.start)..self.byte(mutant.span.end);
        let place = self.places.at(mutant.genre, &bytes).ok_or("its place was not found in the syntax tree")?;
        sites::refused(&self.places.found[place], mutant).map_or(Ok(place), Err)
    }

    fn without_const(&self, sites: &[Site]) -> Vec<Site> {
        let inside = |block: &Bytes| {
            let inside = sites.iter().filter(|site| block.start < site.bytes.start && site.bytes.end < block.end);
            inside.flat_map(|site| site.mutants.clone()).collect::<Vec<_>>()
        };
        let constness = self.places.constness.iter().map(|(token, block)| (token, inside(block)));
        constness
            .filter(|(_, mutants)| !mutants.is_empty())
            .map(|(token, mutants)| sites::not_const(token, mutants))
            .collect()
    }

    fn byte(&self, position: Position) -> usize {
        let start = self.lines[position.line - 1];
        let before = self.text[start..].chars().take(position.column - 1);
        start + before.map(char::len_utf8).sum::<usize>()
    }
}
