//! Files named on the command line; `-` is the standard input.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::CliError;
use crate::yaml::LARGEST_TEXT;

/// The displayed name of a file, and its text.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

/// Reads every file; of a folder, its `.yaml`, `.yml` and `.json` files by name.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Source>, CliError> {
    let mut sources = Vec::new();
    for path in paths {
        for path in within(path).map_err(|source| unreadable(path, source))? {
            let text = text(&path).map_err(|source| unreadable(&path, source))?;
            sources.push(Source { name: path.display().to_string(), text });
        }
    }
    Ok(sources)
}

fn unreadable(path: &Path, source: io::Error) -> CliError {
    CliError::File { file: path.display().to_string(), source }
}

fn within(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files: Vec<PathBuf> =
        path.read_dir()?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known)));
    files.sort();
    if files.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no .yaml, .yml or .json file in this folder"));
    }
    Ok(files)
}

/// The text, cut just above [`LARGEST_TEXT`], so that a larger file is noticed.
fn text(path: &Path) -> io::Result<String> {
    let source: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    let mut text = String::new();
    source.take(LARGEST_TEXT as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}
