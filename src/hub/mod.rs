//! The imperative shell.
mod backoff;
mod cache;
mod lease;
mod objects;
mod supervise;
mod wake;
mod watch;
