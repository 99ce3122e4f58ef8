//! The binary `cutover`, also usable as `kubectl cutover` under the name `kubectl-cutover`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cutover::cli::run(std::env::args_os())
}
