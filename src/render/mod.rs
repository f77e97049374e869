//! TEMP
use crate::report::Report;
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
}
impl std::str::FromStr for Format {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            "markdown" | "html" | "sarif" | "junit" | "github" | "azure" => Ok(Format::Json),
            _ => Err(format!("no {s}")),
        }
    }
}
impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}
pub struct Options {
    pub colour: bool,
    pub width: Option<usize>,
    pub verbose: bool,
}
pub fn render(_f: Format, r: &Report, _o: &Options) -> String {
    serde_json::to_string_pretty(r).unwrap_or_default() + "\n"
}
