//! The address of a workspace.

use std::fmt;
use std::sync::Arc;

use url::Url;

use crate::remote::address::is_loopback;

/// A workspace's address: `https://NAME`, or `http://` on loopback. Nothing follows the name but a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(Arc<Url>);

/// Where the workspace runs, told from its name (Databricks Go SDK, `common/environment`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cloud {
    Azure { login: &'static str },
    Other,
}

/// Why an address is refused. The address itself is repeated only where it can hold no password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Not an address at all.
    #[error(
        "the workspace host is not an address ({0}); expected https://NAME, as in https://adb-1234567890123456.7.azuredatabricks.net"
    )]
    NotAnAddress(String),
    /// `http://` to somewhere else.
    #[error(
        "the workspace host {0} is not https: a token would travel in the clear; write https:// (http:// is only for this machine)"
    )]
    NotHttps(String),
    /// `https://user:password@host`.
    #[error(
        "the workspace host holds a user name or password before `@`; write the name alone, and give credentials by their own variables"
    )]
    UserInfo,
    /// `https://host/some/path`.
    #[error("the workspace host {host} is followed by the path {path:?}; write {host} alone")]
    Path {
        /// The address without the path.
        host: String,
        /// The path.
        path: String,
    },
    /// `https://host/?o=123`, as copied from a browser.
    #[error(
        "the workspace host {0} is followed by `?...` or `#...`, as when copied from a browser; write {0} alone"
    )]
    Query(String),
    /// The account console.
    #[error("{0} is the account console, not a workspace; name the workspace's own host")]
    Account(String),
}

impl Host {
    /// Reads an address. Without a scheme `https://` is meant, as in the Databricks SDKs; a trailing `/` is ignored.
    ///
    /// # Errors
    /// One [`HostError`] for each way in which it can be wrong.
    pub fn parse(text: &str) -> Result<Host, HostError> {
        let text = text.trim();
        let full = if text.contains("://") {
            text.to_owned()
        } else {
            format!("https://{text}")
        };
        let url = Url::parse(&full).map_err(|cause| HostError::NotAnAddress(cause.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HostError::UserInfo);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(HostError::NotAnAddress("no name".to_owned()));
        }
        let bare = url.origin().ascii_serialization();
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            "http" => return Err(HostError::NotHttps(bare)),
            other => return Err(HostError::NotAnAddress(format!("scheme {other}"))),
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(HostError::Query(bare));
        }
        if url.path() != "/" {
            return Err(HostError::Path {
                host: bare,
                path: url.path().to_owned(),
            });
        }
        if url
            .host_str()
            .is_some_and(|name| name.starts_with("accounts.") || name.starts_with("accounts-dod."))
        {
            return Err(HostError::Account(bare));
        }
        Ok(Host(Arc::new(url)))
    }

    /// Whether requests stay on this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// The address of a path below this host, each segment escaped. `None` for a segment that would change the path (`.`, `..`, empty).
    pub(super) fn at(&self, segments: &[&str]) -> Option<Url> {
        if segments
            .iter()
            .any(|segment| matches!(*segment, "" | "." | ".."))
        {
            return None;
        }
        let mut url = Url::clone(&self.0);
        url.path_segments_mut().ok()?.clear().extend(segments);
        Some(url)
    }

    pub(super) fn is_google(&self) -> bool {
        self.0
            .host_str()
            .is_some_and(|name| name.ends_with(".gcp.databricks.com"))
    }

    pub(super) fn cloud(&self) -> Cloud {
        let name = self.0.host_str().unwrap_or_default();
        let azure = [
            (".azuredatabricks.net", AZURE_LOGIN),
            (".databricks.azure.us", "https://login.microsoftonline.us/"),
            (".databricks.azure.cn", "https://login.chinacloudapi.cn/"),
        ];
        azure
            .iter()
            .find(|(zone, _)| name.ends_with(zone))
            .map_or(Cloud::Other, |(_, login)| Cloud::Azure { login })
    }
}

/// Where Azure's public cloud issues tokens.
pub(super) const AZURE_LOGIN: &str = "https://login.microsoftonline.com/";

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.origin().ascii_serialization())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_people_write() {
        for (text, shown) in [
            (
                "https://adb-1.7.azuredatabricks.net",
                "https://adb-1.7.azuredatabricks.net",
            ),
            (
                "HTTPS://Adb-1.7.AzureDatabricks.net/",
                "https://adb-1.7.azuredatabricks.net",
            ),
            (
                " adb-1.7.azuredatabricks.net ",
                "https://adb-1.7.azuredatabricks.net",
            ),
            ("localhost:8080", "https://localhost:8080"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://[::1]:9000/", "http://[::1]:9000"),
            (
                "https://dbc.cloud.databricks.com:443",
                "https://dbc.cloud.databricks.com",
            ),
        ] {
            assert_eq!(Host::parse(text).unwrap().to_string(), shown, "{text}");
        }
        assert_eq!(
            Host::parse("a.example"),
            Host::parse("https://A.example:443/")
        );
    }

    #[test]
    fn says_what_is_wrong() {
        let mut said = String::new();
        for text in [
            "",
            "https://",
            "ftp://a.example",
            "http://a.example",
            "http://127.0.0.1.example",
            "https://me:dapi-secret@a.example",
            "https://a.example/ml/experiments",
            "https://a.example/?o=123",
            "https://accounts.cloud.databricks.com",
        ] {
            said += &format!("{}\n", Host::parse(text).unwrap_err());
        }
        assert!(!said.contains("dapi-secret"));
        insta::assert_snapshot!(said, @r#"
        the workspace host is not an address (empty host); expected https://NAME, as in https://adb-1234567890123456.7.azuredatabricks.net
        the workspace host is not an address (empty host); expected https://NAME, as in https://adb-1234567890123456.7.azuredatabricks.net
        the workspace host is not an address (scheme ftp); expected https://NAME, as in https://adb-1234567890123456.7.azuredatabricks.net
        the workspace host http://a.example is not https: a token would travel in the clear; write https:// (http:// is only for this machine)
        the workspace host http://127.0.0.1.example is not https: a token would travel in the clear; write https:// (http:// is only for this machine)
        the workspace host holds a user name or password before `@`; write the name alone, and give credentials by their own variables
        the workspace host https://a.example is followed by the path "/ml/experiments"; write https://a.example alone
        the workspace host https://a.example is followed by `?...` or `#...`, as when copied from a browser; write https://a.example alone
        https://accounts.cloud.databricks.com is the account console, not a workspace; name the workspace's own host
        "#);
    }

    #[test]
    fn segments_cannot_leave_their_place() {
        let host = Host::parse("https://a.example").unwrap();
        assert_eq!(
            host.at(&["api", "a/b c?d#e%"]).unwrap().as_str(),
            "https://a.example/api/a%2Fb%20c%3Fd%23e%25"
        );
        for bad in ["", ".", ".."] {
            assert_eq!(host.at(&["api", bad]), None);
        }
    }

    #[test]
    fn tells_azure() {
        let cloud = |text| Host::parse(text).unwrap().cloud();
        assert_eq!(
            cloud("https://adb-1.7.azuredatabricks.net"),
            Cloud::Azure { login: AZURE_LOGIN }
        );
        assert_eq!(
            cloud("https://adb-1.7.databricks.azure.us"),
            Cloud::Azure {
                login: "https://login.microsoftonline.us/"
            }
        );
        assert_eq!(cloud("https://dbc-1.cloud.databricks.com"), Cloud::Other);
        assert_eq!(cloud("https://azuredatabricks.net.example"), Cloud::Other);
    }
}
