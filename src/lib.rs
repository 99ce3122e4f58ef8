//! cutover
