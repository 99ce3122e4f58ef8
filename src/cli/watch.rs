//! `--watch`: what was read last is drawn every second, with ages that run, until somebody ends it.

use std::{pin::pin, time::Duration};

use jiff::Timestamp;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{MissedTickBehavior, interval, sleep},
};

use super::{
    CliError, Exit, Output,
    screen::Screen,
    signals,
    text::{Page, age, wrap},
};

/// How often it is read, and drawn.
const EVERY: Duration = Duration::from_secs(1);

/// What is shown of one value at one time.
pub(super) struct Picture {
    pub(super) text: String,
    /// What makes it another one than the picture before, ages aside.
    pub(super) state: String,
    pub(super) exit: Exit,
}

/// What was read last, and when that could not be done again.
struct Known<V> {
    value: V,
    lost: Option<(Timestamp, CliError)>,
}

/// Reads and draws until a signal comes, or there is nothing left to read: `gone` says so. While the API server does not
/// answer, the last value stays, below how old it is.
pub(super) async fn watch<V>(
    out: &mut Output,
    gone: &str,
    read: impl AsyncFn() -> Result<Option<V>, CliError>,
    draw: impl Fn(&V, Timestamp, Page) -> Picture,
) -> Result<Exit, CliError> {
    let mut interrupted = pin!(signals::interrupted()?);
    let mut resized = signal(SignalKind::window_change())?;
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let after = async |pause| {
        sleep(pause).await;
        read().await
    };
    let mut reading = Box::pin(after(Duration::ZERO));
    let mut known: Option<Known<V>> = None;
    let mut exit = Exit::Done;
    let mut screen = Screen::enter(out)?;
    loop {
        tokio::select! {
            result = &mut reading => {
                known = Some(learn(known, result, gone)?);
                reading = Box::pin(after(EVERY));
            }
            _ = ticks.tick() => {}
            _ = resized.recv() => {}
            () = &mut interrupted => return Ok(exit),
        }
        if let Some(known) = &known {
            exit = show(&mut screen, known, &draw)?;
        }
    }
}

/// The first reading must succeed; after that, one that does not leaves what is known.
fn learn<V>(known: Option<Known<V>>, result: Result<Option<V>, CliError>, gone: &str) -> Result<Known<V>, CliError> {
    match (result, known) {
        (Ok(Some(value)), _) => Ok(Known { value, lost: None }),
        (Ok(None), _) => Err(CliError::Said(gone.to_owned())),
        (Err(error), None) => Err(error),
        (Err(error), Some(Known { value, lost })) => {
            let since = lost.map_or_else(Timestamp::now, |(since, _)| since);
            Ok(Known { value, lost: Some((since, error)) })
        }
    }
}

fn show<V>(
    screen: &mut Screen<'_>,
    known: &Known<V>,
    draw: &impl Fn(&V, Timestamp, Page) -> Picture,
) -> Result<Exit, CliError> {
    let (now, page) = (Timestamp::now(), screen.out().page());
    let Picture { text, state, exit } = draw(&known.value, now, page);
    let (text, state) = match &known.lost {
        None => (text, state),
        Some((since, error)) => {
            let first = error.to_string().lines().next().unwrap_or_default().to_owned();
            let words = format!("NOT READ for {}: {first}", age(*since, now));
            (format!("{}\n{text}", wrap(&words, page.width, 4)), format!("{state} not read"))
        }
    };
    screen.draw(&text, state)?;
    Ok(exit)
}
