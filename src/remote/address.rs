//! The address of a service that a token is sent to.

use std::fmt;

use url::Url;

use super::http::{Ask, HttpError};

/// The base address of a service: `https://NAME/PATH`, or `http://` on this machine. The path may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address(Url);

/// Why an address is refused. It continues a sentence that begins with the setting's name; no password is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not an address at all.
    #[error("is not an address ({0}); expected https://NAME")]
    NotAnAddress(String),
    /// `http://` to somewhere else.
    #[error(
        "is not https ({0}): a token would travel in the clear; write https:// (http:// is only for this machine)"
    )]
    NotHttps(String),
    /// `https://user:password@host`.
    #[error("holds a user name or password before `@`; write the address without them")]
    UserInfo,
    /// `https://host/?a=b`.
    #[error("is followed by `?...` or `#...`; write the address without them")]
    Query,
}

impl Address {
    /// Reads an address. A trailing `/` is ignored.
    pub(crate) fn parse(text: &str) -> Result<Address, AddressError> {
        let mut url = Url::parse(text.trim())
            .map_err(|cause| AddressError::NotAnAddress(cause.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::UserInfo);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(AddressError::NotAnAddress("no name".to_owned()));
        }
        match url.scheme() {
            "https" | "http" if may_carry_a_secret(&url) => {}
            "http" => return Err(AddressError::NotHttps(url.origin().ascii_serialization())),
            _ => {
                return Err(AddressError::NotAnAddress(
                    "neither https nor http".to_owned(),
                ));
            }
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(AddressError::Query);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Address(url))
    }

    /// Whether requests stay on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// Scheme, name and port.
    pub(crate) fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// The path below the name, without a trailing `/`.
    pub(crate) fn path(&self) -> &str {
        self.0.path().trim_end_matches('/')
    }

    /// The same name with another path.
    pub(crate) fn with_path(&self, path: &str) -> Address {
        let mut url = self.0.clone();
        url.set_path(path);
        Address(url)
    }

    /// The address itself.
    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    /// The read of a path below this address, each segment escaped.
    pub(crate) fn ask(
        &self,
        what: String,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Ask, HttpError> {
        Ask::read(what, self.at(segments), query)
    }

    /// `None` for a segment that would change the path (`.`, `..`, empty).
    fn at(&self, segments: &[&str]) -> Option<Url> {
        if segments
            .iter()
            .any(|segment| matches!(*segment, "" | "." | ".."))
        {
            return None;
        }
        let mut url = self.0.clone();
        url.path_segments_mut()
            .ok()?
            .pop_if_empty()
            .extend(segments);
        Some(url)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path())
    }
}

/// Whether an address stays on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// An address that a secret may be sent to: https, or this machine.
pub(super) fn may_carry_a_secret(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_paths_and_keeps_them() {
        for (text, shown) in [
            ("https://api.github.com", "https://api.github.com"),
            ("https://ghe.example/api/v3/", "https://ghe.example/api/v3"),
            ("http://127.0.0.1:80/", "http://127.0.0.1"),
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), shown);
        }
        let address = Address::parse("https://dev.azure.com/acme/").unwrap();
        assert_eq!(
            address.at(&["My Project/x", "_apis"]).unwrap().as_str(),
            "https://dev.azure.com/acme/My%20Project%2Fx/_apis"
        );
        let bare = Address::parse("https://api.github.com").unwrap();
        assert_eq!(
            bare.at(&["repos"]).unwrap().as_str(),
            "https://api.github.com/repos"
        );
        for bad in ["", ".", ".."] {
            assert_eq!(address.at(&["a", bad]), None);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let mut said = String::new();
        for text in [
            "",
            "api.github.com",
            "ftp://a.example",
            "http://a.example/x",
            "https://me:s3cr3t@a.example",
            "https://a.example/?o=1",
        ] {
            said += &format!("X {}\n", Address::parse(text).unwrap_err());
        }
        assert!(!said.contains("s3cr3t"));
        insta::assert_snapshot!(said, @"
        X is not an address (relative URL without a base); expected https://NAME
        X is not an address (relative URL without a base); expected https://NAME
        X is not an address (neither https nor http); expected https://NAME
        X is not https (http://a.example): a token would travel in the clear; write https:// (http:// is only for this machine)
        X holds a user name or password before `@`; write the address without them
        X is followed by `?...` or `#...`; write the address without them
        ");
    }
}
