use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use url::Url;
use wiremock::matchers::{any, body_string, header, method};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::*;

fn quick() -> HttpOptions {
    HttpOptions {
        per_second: 10_000,
        answer_within: Duration::from_secs(5),
        retry_for: Duration::from_millis(300),
        first_pause: Duration::from_millis(5),
        system_proxy: false,
        ..HttpOptions::default()
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    crate::remote::run::block_on(work).unwrap()
}

fn ask(server: &str) -> Ask {
    Ask::get(
        Url::parse(server)
            .unwrap()
            .join("/api/2.2/jobs/get?job_id=42")
            .unwrap(),
        "job 42",
    )
    .bearer(&"dapi-very-secret".into())
}

/// The address is another one in every run.
fn shown(error: &HttpError) -> String {
    let text = error.to_string();
    assert!(
        !format!("{text} {error:?}").contains("dapi-very-secret"),
        "{text}"
    );
    let port = text.split("127.0.0.1:").nth(1).map(|rest| {
        rest.chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>()
    });
    text.replace(&format!("127.0.0.1:{}", port.unwrap_or_default()), "HOST")
}

/// Answers one after the other; the last one for ever.
struct Script(Vec<ResponseTemplate>, AtomicUsize);

impl Respond for Script {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let at = self.1.fetch_add(1, Ordering::SeqCst).min(self.0.len() - 1);
        self.0[at].clone()
    }
}

fn script(answers: Vec<ResponseTemplate>) -> Script {
    Script(answers, AtomicUsize::new(0))
}

fn json(status: u16, body: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_raw(body.to_owned(), "application/json")
}

/// What a request ends with when the server answers like this, and how many requests it took.
fn outcome(answers: Vec<ResponseTemplate>) -> (Result<serde_json::Value, HttpError>, usize) {
    run(async {
        let server = MockServer::start().await;
        Mock::given(any())
            .respond_with(script(answers))
            .mount(&server)
            .await;
        let got = Http::new(quick()).unwrap().json(&ask(&server.uri())).await;
        (got, server.received_requests().await.unwrap().len())
    })
}

#[test]
fn every_bad_answer_has_its_own_message() {
    let html = "<html><head><title>Blocked by example proxy</title></head></html>";
    let mut said = String::new();
    for answer in [
        json(
            401,
            r#"{"error_code":401,"message":"Invalid access token dapi-very-secret."}"#,
        ),
        json(
            403,
            r#"{"error_code":"PERMISSION_DENIED","message":"ci does not have View permission on job 42."}"#,
        ),
        json(
            404,
            r#"{"error_code":"RESOURCE_DOES_NOT_EXIST","message":"gone"}"#,
        ),
        json(
            400,
            r#"{"error_code":"INVALID_PARAMETER_VALUE","message":"\u001b[31mred"}"#,
        ),
        json(500, r#"{"error_code":"INTERNAL_ERROR"}"#),
        json(
            429,
            r#"{"error_code":"REQUEST_LIMIT_EXCEEDED","message":"slow down"}"#,
        ),
        json(503, ""),
        ResponseTemplate::new(200).set_body_raw(html, "text/html; charset=utf-8"),
        ResponseTemplate::new(404).set_body_raw(html, "text/html"),
        json(200, html),
        json(200, ""),
        json(200, r#"{"a":"#),
        ResponseTemplate::new(302).insert_header("Location", "https://login.example/sso?session=1"),
    ] {
        said += &format!("{}\n", shown(&outcome(vec![answer]).0.unwrap_err()));
    }
    insta::assert_snapshot!(said, @r#"
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 401 (Invalid access token (secret)); the credentials are wrong, expired or of another workspace: sign in again
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 403 (PERMISSION_DENIED: ci does not have View permission on job 42); give the identity that signs in the right to read it
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 404 (RESOURCE_DOES_NOT_EXIST: gone); check that the host is the right workspace and that the id is of it
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 400 (INVALID_PARAMETER_VALUE: \u{1b}[31mred); check that host and id are the right ones
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 500 (INTERNAL_ERROR); the service has a problem: try again later
    cannot read job 42: GET http://HOST/api/2.2/jobs/get still answered 429 after 0 s (REQUEST_LIMIT_EXCEEDED: slow down); ask for less with DATABRICKS_RATE_LIMIT (requests a second) or try later
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 503; the service has a problem: try again later
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 200 with something that is not JSON (it starts with `<html><head><title>Blocked by example pr`); a proxy or a login page answered in its place: check the host and HTTPS_PROXY / NO_PROXY
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 404 with something that is not JSON (it starts with `<html><head><title>Blocked by example pr`); a proxy or a login page answered in its place: check the host and HTTPS_PROXY / NO_PROXY
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 200 with something that is not JSON (it starts with `<html><head><title>Blocked by example pr`); a proxy or a login page answered in its place: check the host and HTTPS_PROXY / NO_PROXY
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 200 with nothing where JSON was expected; check the host and HTTPS_PROXY / NO_PROXY
    cannot read job 42: the answer of GET http://HOST/api/2.2/jobs/get is not what the API promises: EOF while parsing a value at line 1 column 5; this version may be too old for the workspace
    cannot read job 42: GET http://HOST/api/2.2/jobs/get answered 302 (to login.example) instead of data; the host is not a workspace, or a login page stands before it: check the host
    "#);
}

#[test]
fn a_field_that_is_missing_is_named() {
    #[derive(Debug, serde::Deserialize)]
    struct Thing {
        #[expect(dead_code, reason = "only its absence matters")]
        run_as_user_name: String,
    }
    let error = run(async {
        let server = MockServer::start().await;
        Mock::given(any())
            .respond_with(json(200, r#"{"job_id":1}"#))
            .mount(&server)
            .await;
        Http::new(quick())
            .unwrap()
            .json::<Thing>(&ask(&server.uri()))
            .await
            .unwrap_err()
    });
    insta::assert_snapshot!(shown(&error), @"cannot read job 42: the answer of GET http://HOST/api/2.2/jobs/get is not what the API promises: missing field `run_as_user_name` at line 1 column 12; this version may be too old for the workspace");
}

#[test]
fn retries_what_may_be_over_soon_and_nothing_else() {
    for status in [429, 502, 503, 504] {
        let (got, requests) = outcome(vec![
            json(status, "{}"),
            json(status, "{}"),
            json(200, r#"{"ok":1}"#),
        ]);
        assert_eq!(
            (got.unwrap()["ok"].as_i64(), requests),
            (Some(1), 3),
            "{status}"
        );
    }
    for status in [400, 401, 403, 404, 409, 500, 501] {
        let (got, requests) = outcome(vec![json(status, "{}"), json(200, "{}")]);
        assert!(got.is_err());
        assert_eq!(requests, 1, "{status}");
    }
}

#[test]
fn a_post_is_not_repeated_unless_it_may_be() {
    run(async {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .and(body_string("a=1&secret=s3cr3t"))
            .respond_with(json(503, ""))
            .mount(&server)
            .await;
        let http = Http::new(quick()).unwrap();
        let post = Ask::post_form(
            Url::parse(&server.uri()).unwrap(),
            "a token",
            vec![("a", "1".to_owned())],
        );
        let post = post.secret_field("secret", &"s3cr3t".into());
        http.bytes(&post).await.unwrap_err();
        assert_eq!(server.received_requests().await.unwrap().len(), 1);
        http.bytes(&post.repeatable()).await.unwrap_err();
        assert!(server.received_requests().await.unwrap().len() > 2);
    });
}

#[test]
fn waits_as_long_as_it_is_told() {
    run(async {
        let server = MockServer::start().await;
        let answers = vec![
            json(429, "{}").insert_header("Retry-After", "1"),
            json(200, "{}"),
        ];
        Mock::given(any())
            .respond_with(script(answers))
            .mount(&server)
            .await;
        let http = Http::new(HttpOptions {
            retry_for: Duration::from_secs(5),
            ..quick()
        })
        .unwrap();
        let start = Instant::now();
        http.json::<serde_json::Value>(&ask(&server.uri()))
            .await
            .unwrap();
        let took = start.elapsed();
        assert!(
            took >= Duration::from_secs(1) && took < Duration::from_secs(2),
            "{took:?}"
        );
    });
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let now: jiff::Timestamp = "2026-11-30T15:00:00Z".parse().unwrap();
    for (text, seconds) in [
        ("0", Some(0)),
        (" 120 ", Some(120)),
        ("Mon, 30 Nov 2026 15:00:30 GMT", Some(30)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
        ("99999999999999999999999", None),
        ("-1", None),
        ("soon", None),
        ("", None),
    ] {
        assert_eq!(
            pause_of(text, now),
            seconds.map(Duration::from_secs),
            "{text:?}"
        );
    }
}

#[test]
fn keeps_the_pace_of_the_limit() {
    run(async {
        let server = MockServer::start().await;
        Mock::given(header("user-agent", USER_AGENT))
            .respond_with(json(200, "{}"))
            .mount(&server)
            .await;
        let http = Http::new(HttpOptions {
            per_second: 100,
            ..quick()
        })
        .unwrap();
        let uri = server.uri();
        let start = Instant::now();
        let got = crate::remote::run::each(
            0..51,
            |_| {
                let (http, ask) = (http.clone(), ask(&uri));
                async move { http.json::<serde_json::Value>(&ask).await.is_ok() }
            },
            |_| {},
        )
        .await;
        assert!(got.iter().all(|ok| *ok));
        assert!(
            start.elapsed() >= Duration::from_millis(500),
            "51 requests at 100 a second take half a second: {:?}",
            start.elapsed()
        );
    });
}

/// A server that writes these bytes to each connection and closes it.
fn raw_server(answer: &'static [u8]) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
        }
    });
    format!("http://{address}")
}

#[test]
fn a_cut_or_endless_or_late_answer_is_an_error() {
    let http = Http::new(quick()).unwrap();
    let cut = raw_server(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"run_as\":");
    let mut said = shown(&run(http.bytes(&ask(&cut))).unwrap_err()) + "\n";
    let chunked =
        raw_server(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n");
    said += &(shown(&run(http.bytes(&ask(&chunked))).unwrap_err()) + "\n");
    let long =
        raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{                            }");
    said += &(shown(&run(http.bytes(&ask(&long).at_most(29))).unwrap_err()) + "\n");
    assert_eq!(run(http.bytes(&ask(&long).at_most(30))).unwrap().len(), 30);
    said += &run(async {
        let server = MockServer::start().await;
        Mock::given(any())
            .respond_with(json(200, "{}").set_delay(Duration::from_secs(30)))
            .mount(&server)
            .await;
        let http = Http::new(HttpOptions {
            answer_within: Duration::from_millis(200),
            ..quick()
        })
        .unwrap();
        shown(&http.bytes(&ask(&server.uri())).await.unwrap_err())
    });
    insta::assert_snapshot!(said, @"
    cannot read job 42: the answer of GET http://HOST/api/2.2/jobs/get ended before its announced end; a proxy or the network cut it: try again
    cannot read job 42: the answer of GET http://HOST/api/2.2/jobs/get ended before its announced end; a proxy or the network cut it: try again
    cannot read job 42: the answer of GET http://HOST/api/2.2/jobs/get is longer than 29 bytes, the most that is read
    cannot read job 42: GET http://HOST/api/2.2/jobs/get gave no whole answer in time; check the network and HTTPS_PROXY, or try again later
    ");
}

#[test]
fn nobody_there_is_unreachable() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = run(Http::new(quick())
        .unwrap()
        .bytes(&ask(&format!("http://{free}"))))
    .unwrap_err();
    assert!(matches!(error.failure(), Failure::Unreachable(_)));
    let text = shown(&error);
    assert!(
        text.starts_with(
            "cannot read job 42: GET http://HOST/api/2.2/jobs/get could not be reached: "
        ),
        "{text}"
    );
    assert!(
        text.ends_with("; check the host, the network and HTTPS_PROXY / NO_PROXY"),
        "{text}"
    );
}

#[test]
fn the_ca_bundle_must_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let made = |path: PathBuf| {
        let text = Http::new(HttpOptions {
            ca_bundle: Some(path),
            ..quick()
        })
        .unwrap_err()
        .to_string();
        let missing = std::fs::read(folder.path().join("missing.pem"))
            .unwrap_err()
            .to_string();
        text.replace(folder.path().to_str().unwrap(), "DIR")
            .replace('\\', "/")
            .replace(&missing, "MISSING")
            + "\n"
    };
    let mut said = made(folder.path().join("missing.pem"));
    for (name, text) in [
        ("empty.pem", ""),
        (
            "bad.pem",
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
        ),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
        said += &made(folder.path().join(name));
    }
    insta::assert_snapshot!(said, @"
    the CA bundle DIR/missing.pem cannot be read: MISSING; correct BUNDLEGATE_CA_BUNDLE
    the CA bundle DIR/empty.pem holds no certificate; expected PEM blocks `BEGIN CERTIFICATE`
    the CA bundle DIR/bad.pem is not PEM: invalid certificate encoding; correct BUNDLEGATE_CA_BUNDLE
    ");
}

/// A TLS server on loopback whose certificate only our own authority vouches for.
#[cfg(target_os = "linux")]
fn tls_server() -> String {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificate =
        CertificateDer::from_pem_slice(include_bytes!("../../../tests/fixtures/tls/server.pem"))
            .unwrap();
    let key =
        PrivateKeyDer::from_pem_slice(include_bytes!("../../../tests/fixtures/tls/server.key"))
            .unwrap();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let session = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = rustls::StreamOwned::new(session, stream.unwrap());
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
            let _ = stream.flush();
        }
    });
    format!("https://{address}")
}

#[cfg(target_os = "linux")]
#[test]
fn trusts_a_further_authority_only_when_told() {
    let server = tls_server();
    let error = run(Http::new(quick()).unwrap().bytes(&ask(&server))).unwrap_err();
    insta::assert_snapshot!(shown(&error), @"cannot read job 42: GET https://HOST/api/2.2/jobs/get could not be reached: invalid peer certificate: UnknownIssuer; behind a proxy with its own certificate authority, name its PEM file in BUNDLEGATE_CA_BUNDLE");
    let ca_bundle = Some(PathBuf::from("tests/fixtures/tls/authority.pem"));
    let http = Http::new(HttpOptions {
        ca_bundle,
        ..quick()
    })
    .unwrap();
    assert_eq!(run(http.bytes(&ask(&server))).unwrap(), b"{}");
}

/// In a process of its own, since proxies are told by its environment.
#[test]
fn the_systems_proxy_is_used() {
    const CHILD: &str = "BUNDLEGATE_TEST_PROXY_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let proxy =
            raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
        let closed =
            raw_server(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "remote::http::tests::the_systems_proxy_is_used"])
            .env(CHILD, "1")
            .envs([
                ("HTTP_PROXY", &proxy),
                ("http_proxy", &proxy),
                ("HTTPS_PROXY", &closed),
                ("https_proxy", &closed),
            ])
            .envs([
                ("NO_PROXY", "direct.invalid"),
                ("no_proxy", "direct.invalid"),
            ])
            .status()
            .unwrap();
        assert!(child.success());
        return;
    }
    let http = Http::new(HttpOptions {
        system_proxy: true,
        ..quick()
    })
    .unwrap();
    assert_eq!(
        run(http.bytes(&ask("http://workspace.invalid"))).unwrap(),
        b"{}"
    );
    let through_a_closed_one = run(http.bytes(&ask("https://workspace.invalid"))).unwrap_err();
    insta::assert_snapshot!(through_a_closed_one.to_string(), @"cannot read job 42: GET https://workspace.invalid/api/2.2/jobs/get could not be reached: tunnel error: proxy authorization required; check the host, the network and HTTPS_PROXY / NO_PROXY");
    let direct = run(http.bytes(&ask("http://direct.invalid"))).unwrap_err();
    assert!(
        direct.to_string().contains("could not be reached"),
        "{direct}"
    );
}
