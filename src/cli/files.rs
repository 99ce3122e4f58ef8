//! Files named on the command line; `-` is the standard input.

use std::{
    fs::{DirEntry, File},
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
};

use super::CliError;
use crate::yaml::LARGEST_TEXT;

/// The displayed name of a file, and its text.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: io::Result<String>,
}

impl Source {
    /// The text; a file that cannot be read ends the verb.
    pub(super) fn required(self) -> Result<(String, String), CliError> {
        let Self { name, text } = self;
        match text {
            Ok(text) => Ok((name, text)),
            Err(source) => Err(CliError::File { file: name, source }),
        }
    }
}

/// Reads every file; of a folder, its `.yaml`, `.yml` and `.json` files and those of the folders in it, by name.
pub(super) fn read(paths: &[PathBuf]) -> Vec<Source> {
    let found = paths.iter().flat_map(|path| if path.is_dir() { within(path) } else { vec![Ok(path.clone())] });
    let sources = found.map(|path| match path {
        Ok(path) => Source { name: path.display().to_string(), text: text(&path) },
        Err((folder, error)) => Source { name: folder.display().to_string(), text: Err(error) },
    });
    sources.collect()
}

type Walked = Result<PathBuf, (PathBuf, io::Error)>;

/// The files of a folder and of all below it. Links to folders are not followed, so it ends; hidden ones are left out.
fn within(folder: &Path) -> Vec<Walked> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        match folder.read_dir().and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>) {
            Err(error) => files.push(Err((folder, error))),
            Ok(entries) => {
                let shown = entries.into_iter().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
                for entry in shown {
                    match entry.file_type() {
                        Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                        _ if is_manifest(&entry.path()) => files.push(Ok(entry.path())),
                        _ => {}
                    }
                }
            }
        }
    }
    files.sort_by_key(|found| match found {
        Ok(path) | Err((path, _)) => path.clone(),
    });
    if files.is_empty() {
        let error = io::Error::new(ErrorKind::NotFound, "no .yaml, .yml or .json file is in this folder or below it");
        files.push(Err((folder.to_owned(), error)));
    }
    files
}

fn is_manifest(path: &Path) -> bool {
    let known = path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known));
    known && !path.is_dir()
}

/// The text, cut just above [`LARGEST_TEXT`], so that a larger file is noticed.
fn text(path: &Path) -> io::Result<String> {
    let source: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    let mut text = String::new();
    source.take(LARGEST_TEXT as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}
