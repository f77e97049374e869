//! TEMP
use super::Rule;
pub fn json(_r: &[&dyn Rule]) -> String {
    String::new()
}
pub fn page(_r: &dyn Rule) -> String {
    String::new()
}
pub fn list() -> String {
    String::new()
}
