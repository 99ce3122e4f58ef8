//! A search over small worlds: every move from every state within reach, and long seeded walks beyond it.
//!
//! Checked after every pass, against what the world did and never against what the status says of itself.

mod explore;
mod fingerprint;
mod moves;
mod reached;
mod reasons;
mod rules;
mod state;
mod walks;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use cutover::api::Reason;

use explore::explore;
use moves::moves;
use reached::Reached;
use reasons::is_reachable_here;
use walks::walk;

/// Both halves at once; the first broken rule ends them.
fn search_and_walk() -> Reached {
    let stop = AtomicBool::new(false);
    let going_on = || !stop.load(Ordering::Relaxed);
    let guarded = |search: &dyn Fn(&mut Reached)| {
        let mut reached = Reached::default();
        let result = catch_unwind(AssertUnwindSafe(|| search(&mut reached)));
        stop.fetch_or(result.is_err(), Ordering::Relaxed);
        result.map(|()| reached)
    };
    std::thread::scope(|threads| {
        let walks = threads
            .spawn(|| guarded(&|reached| (0..300).take_while(|_| going_on()).for_each(|seed| walk(seed, 60, reached))));
        let explored = guarded(&|reached| explore(2, reached, &going_on));
        let walked = walks.join().expect("the thread caught every panic");
        let mut reached = explored.expect("a rule was broken, see above");
        let walked = walked.expect("a rule was broken on a walk, see above");
        reached.add(walked);
        reached
    })
}

#[test]
fn no_move_from_any_state_within_reach_breaks_a_rule() {
    let reached = search_and_walk();
    println!("{} states; moves {:?}; reasons {:?}", reached.states, reached.moves, reached.reasons);
    for what in moves() {
        assert!(reached.moves.get(&what).is_some_and(|times| *times > 0), "{what:?} was never made");
    }
    let missed: Vec<_> = Reason::ALL
        .iter()
        .filter(|reason| is_reachable_here(**reason) && !reached.reasons.contains_key(reason))
        .collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
    let taken = reached.arrows.into_iter().chain(super::states::arrows_of_service_mode()).collect();
    assert_eq!(super::states::drawn(), taken, "the arrows that are drawn, and those that are taken");
}
