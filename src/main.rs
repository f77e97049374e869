//! bundlegate.
fn main() {}
