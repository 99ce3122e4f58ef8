//! Fast tests of what users meet: files, messages, and the command line. One binary keeps linking short.

mod bad_inputs;
mod command;
mod crds;
mod examples;
