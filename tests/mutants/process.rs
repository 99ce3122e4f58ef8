//! One run of a test binary, with bounds.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

/// A mutant that allocates for ever ends here: in KiB of address space.
const MEMORY: u64 = 8 << 20;

/// How one run ended, and what it printed.
#[derive(Debug)]
pub struct Ended {
    /// None where it took too long.
    pub status: Option<ExitStatus>,
    pub output: String,
    pub seconds: f64,
}

/// Runs `program` in `root` with these variables; it may use `seconds` of a processor, and wait much longer, because the
/// machine may be busy.
pub fn run(program: &Path, root: &Path, arguments: &[&str], variables: &[(&str, &str)], seconds: f64) -> Result<Ended> {
    let mut output = tempfile::tempfile()?;
    // The group of its own would outlive this program where somebody ends it.
    let limits = format!("ulimit -v {MEMORY} -t {}; exec setpriv --pdeathsig KILL \"$@\"", seconds.ceil());
    let mut command = Command::new("bash");
    command.args(["-c", &limits, "bash"]).arg(program).args(arguments).envs(variables.iter().copied());
    command.env("CARGO_MANIFEST_DIR", root).current_dir(root).process_group(0);
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
    let status = wait(&mut child, start + Duration::from_secs_f64(20.0 + 5.0 * seconds))?;
    // What bash answers for a program that it cannot start.
    let started = !matches!(status.and_then(|status| status.code()), Some(126 | 127));
    ensure!(started, "{} does not start", program.display());
    Ok(Ended { status, output: text(&mut output)?, seconds: start.elapsed().as_secs_f64() })
}

/// Until the end of the process or the deadline; then its whole group ends.
fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_millis(2);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if Instant::now() >= deadline {
            break None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    };
    // Programs that a test started may still run.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait()?;
    Ok(status)
}

fn text(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
