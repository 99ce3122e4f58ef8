//! Flagger 1.44, measured once beside cutover in the same way: constants, not measured again.

/// What was measured, when, and how.
pub const HOW: &str = "Flagger 1.44, measured on 2026-11-22: the same kube-apiserver 1.34.4 and etcd (without fsync) on two cores \
shared with other work, the same stub of Prometheus, as a service account, interval 10 s, 10 steps, a Skipper route, ten \
canaries a namespace.";

/// Of one, ten and a hundred canaries; none where it was not measured.
pub type Figures = [Option<f64>; 3];

/// The numbers of canaries.
pub const SIZES: [usize; 3] = [1, 10, 100];

pub const REQUESTS_PER_ADVANCE: Figures = [Some(18.0), Some(18.8), Some(18.0)];
pub const REQUESTS_PER_IDLE_MINUTE: Figures = [Some(43.0), Some(427.0), Some(5333.0)];
/// Milliseconds.
pub const CPU_PER_ADVANCE: Figures = [Some(12.0), Some(5.6), Some(9.3)];
pub const API_SERVER_CPU_PER_ADVANCE: Figures = [None, Some(40.0), Some(34.0)];
pub const DECLARED_TO_FIRST_WRITE: Figures = [Some(12_000.0), Some(16_000.0), Some(18_000.0)];
pub const RESTART_TO_FIRST_WRITE: Figures = [Some(10_800.0), Some(11_000.0), Some(18_000.0)];
pub const BAD_SAMPLE_TO_ROUTE: Figures = [None, None, Some(11_400.0)];
