# The only commands a newcomer needs.
.PHONY: demo test lint lab mistakes sim sim-mistakes

# A little optimisation makes thousands of plans take minutes.
SIM = CARGO_PROFILE_DEV_OPT_LEVEL=1 cargo test --quiet --test sim

# A promotion and a rollback on real parts, told as a story.
demo:
	@cargo test --quiet --test lab -- demo

# Everything that must hold.
test: lint
	cargo test --lib --test it
	SEEDS=0..1 $(SIM)
	cargo test --test lab
	tests/mistakes/run

lint:
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings

# The lab alone: its tests on real API servers, Prometheus and data planes.
lab:
	cargo test --test lab

# One-line mistakes in the core, each of which the search over small worlds must catch.
mistakes:
	tests/mistakes/run

# The hub against faults on virtual time: every index of every pattern on every run. PLAN='P1 k=17 seed=3' replays one plan
# with its history, SEEDS=7..20 goes on with fresh seeds.
sim:
	@PLAN="$(PLAN)" SEEDS="$(SEEDS)" ALL=1 $(SIM)

# Mistakes in the hub, each of which an ordinary plan of the simulator must catch.
sim-mistakes:
	@MISTAKES=1 $(SIM) --features mistakes
