//! A search over small worlds: every move from every state within reach, and long seeded walks beyond it.
//!
//! Every pass is judged by what the world did: what was written to the routes, what they showed, what the members did
//! and what people requested. What the status says of itself is judged as well, and is no evidence.

mod actions;
mod course;
mod disturb;
mod evidence;
mod explore;
mod fingerprint;
mod moves;
mod reached;
mod reasons;
mod rises;
mod rules;
mod scenarios;
mod state;
mod walks;
mod worlds;

use std::sync::{
    LazyLock,
    atomic::{AtomicBool, Ordering},
};

use explore::explore;
use moves::moves;
use reached::Reached;
use walks::walk;
use worlds::{MEMBERS, SERVICES, STAGES, STEERING, SmallWorld, WALKS};

/// The first broken rule ends every search.
static BROKEN: AtomicBool = AtomicBool::new(false);

static EXPLORED: LazyLock<Reached> = LazyLock::new(|| searched(|reached| explore(&MEMBERS, reached, &going_on)));
static WALKED: LazyLock<Reached> = LazyLock::new(|| searched(|reached| walks(&MEMBERS, reached)));
static OF_SERVICES: LazyLock<Reached> = LazyLock::new(|| both(&SERVICES));
static OF_STAGES: LazyLock<Reached> = LazyLock::new(|| both(&STAGES));
static OF_STEERING: LazyLock<Reached> = LazyLock::new(|| both(&STEERING));

fn going_on() -> bool {
    !BROKEN.load(Ordering::Relaxed)
}

fn searched(search: impl FnOnce(&mut Reached)) -> Reached {
    struct EndOthers;
    impl Drop for EndOthers {
        fn drop(&mut self) {
            BROKEN.fetch_or(std::thread::panicking(), Ordering::Relaxed);
        }
    }
    let _end_others = EndOthers;
    let mut reached = Reached::default();
    search(&mut reached);
    reached
}

fn walks(small: &'static SmallWorld, reached: &mut Reached) {
    (0..WALKS).take_while(|_| going_on()).for_each(|seed| walk(small, seed, 60, reached));
}

fn both(small: &'static SmallWorld) -> Reached {
    searched(|reached| {
        explore(small, reached, &going_on);
        walks(small, reached);
    })
}

/// Nothing was left out: the search went to its end, and made every move there is in a world with so many routes.
fn made_every_move(routes: usize, reached: &Reached) {
    assert!(going_on(), "a rule was broken in another world");
    println!("{} states; moves {:?}; reasons {:?}", reached.states, reached.moves, reached.reasons);
    for what in moves(routes) {
        assert!(reached.moves.get(&what).is_some_and(|times| *times > 0), "{what:?} was never made");
    }
}

#[test]
fn no_move_from_any_state_within_reach_breaks_a_rule() {
    made_every_move(2, &EXPLORED);
}

#[test]
fn no_walk_breaks_a_rule_and_every_walk_ends_well() {
    made_every_move(2, &WALKED);
}

#[test]
fn no_move_in_service_mode_breaks_a_rule() {
    made_every_move(1, &OF_SERVICES);
}

#[test]
fn no_move_between_stages_breaks_a_rule() {
    made_every_move(1, &OF_STAGES);
}

#[test]
fn no_move_while_requests_are_steered_breaks_a_rule() {
    made_every_move(1, &OF_STEERING);
}

/// What all worlds reached; each is searched once, however many tests look at it.
fn reached_by_all() -> Reached {
    let worlds = [&EXPLORED, &WALKED, &OF_SERVICES, &OF_STAGES, &OF_STEERING];
    let mut all = Reached::default();
    std::thread::scope(|threads| {
        let searches = worlds.map(|world| threads.spawn(move || LazyLock::force(world)));
        for search in searches {
            all.add(search.join().expect("a rule was broken, see above"));
        }
    });
    assert!(going_on(), "a rule was broken in another world");
    all
}

#[test]
fn every_reason_of_the_core_is_reached_by_the_search_or_by_a_scenario() {
    let reached = reached_by_all();
    let scenarios = scenarios::reached();
    let missed: Vec<_> = reasons::of_the_core()
        .into_iter()
        .filter(|reason| !reached.reasons.contains_key(reason) && !scenarios.contains(reason))
        .collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}

#[test]
fn the_arrows_that_are_drawn_are_those_that_are_taken() {
    let scripted = [super::states::arrows_without_analysis(), super::states::arrows_of_an_adoption()];
    let taken = reached_by_all().arrows.into_iter().chain(scripted.into_iter().flatten()).collect();
    assert_eq!(super::states::drawn(), taken, "the arrows that are drawn, and those that are taken");
}
