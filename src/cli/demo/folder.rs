//! A folder of the demo's own, gone with the value.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub(super) struct Folder(PathBuf);

impl Folder {
    /// # Errors
    /// When it cannot be made, or somebody else made it first.
    pub(super) fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("cutover-demo-{}", std::process::id()));
        let explain = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        fs::create_dir(&path).map_err(explain)?;
        Ok(Self(path))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The last lines of a file; nothing where there is none.
    pub(super) fn last_lines(&self, name: &str, count: usize) -> String {
        let text = fs::read_to_string(self.file(name)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in a folder for temporary files is removed by the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}
