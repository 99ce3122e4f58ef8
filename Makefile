# The only commands a newcomer needs.
.PHONY: demo test lint lab lab-tests patient mistakes mutants load sim sim-figures sim-hunt bench bench-figures

SIM = cargo test --quiet --test sim
# The unit tests wait for little; a build that nothing else uses must be quick.
UNOPTIMISED = --config 'profile.test.package.cutover.opt-level=0'

# A promotion and a rollback on this machine, with real traffic; needs nothing but Rust and a C compiler.
demo:
	@echo 'A promotion and a rollback on this machine, in half a minute. First cargo builds cutover and shows how far it is:'
	@echo 'about three minutes on a fresh machine with two cores, seconds from then on.'
	@cargo run -- demo

# Everything that must hold. The lab mostly waits: the rest takes what it leaves of the machine.
test: lint
	cargo test --lib $(UNOPTIMISED)
	cargo test --test it
	$(MAKE) --jobs=2 lab-tests patient

# What no clock measures.
patient:
	nice -n 19 $(SIM)
	nice -n 19 cargo test --quiet --test load
	nice -n 19 tests/mistakes/run
	nice -n 19 tests/mutants/run --sample 40

lint:
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	cargo clippy --lib --bins --no-default-features -- -D warnings

# The same story on real parts: API servers, Prometheus, Contour and Envoy.
lab:
	@cargo test --quiet --test lab -- demo

# The lab's tests alone.
lab-tests:
	cargo test --test lab

# Mistakes laid over a copy of the sources: each must be caught, by the search over small worlds or by the plan that
# docs/reliability.md names.
mistakes:
	tests/mistakes/run

# How many small changes of the sources the fast tests notice; tests/mutants/run says what ARGS may be, such as
# ARGS='--in-diff CHANGES.diff' and ARGS='--sample 40'.
mutants:
	tests/mutants/run $(ARGS)

# The hub against faults on virtual time: every index of every pattern on every run, which takes a day; ONLY=1,2,14 takes
# these patterns, KINDS=skipper,istio these kinds of route. PLAN='P1 k=17 seed=3' replays one plan with its history,
# SEEDS=7..20 goes on with fresh seeds.
sim:
	@PLAN="$(PLAN)" SEEDS="$(SEEDS)" ONLY="$(ONLY)" KINDS="$(KINDS)" ALL=1 $(SIM)

# The ordinary plans, and their figures into docs/reliability.md.
sim-figures:
	@FIGURES=1 $(SIM)

# A plan for each mistake that the simulator must catch.
sim-hunt:
	tests/mistakes/run hunt

# Thirty rollouts for an hour of virtual time with faults, and one for two weeks: what the hub needs is bounded. LOAD=1000
# takes so many rollouts.
load:
	@LOAD="$(LOAD)" cargo test --quiet --test load

# What rollouts cost the hub and a real API server, and how fast they are, at 1, 10 and 100 rollouts and under twice the load
# that fits; about ten minutes. BENCH=1000 takes this size, BENCH=10,crowded,overload these parts; BENCH=10000 is on the
# sandbox's API server.
bench:
	cargo build --release --bin cutover --no-default-features
	@HUB=$(CURDIR)/target/release/cutover BENCH="$(BENCH)" cargo test --quiet --test lab -- bench

# The same, and its figures and picture into docs/performance.md.
bench-figures:
	@FIGURES=1 $(MAKE) bench
