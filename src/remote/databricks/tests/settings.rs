//! Environment, profiles, and what is said about wrong ones.

use wiremock::Mock;
use wiremock::matchers::path;

use super::*;
use crate::remote::databricks::settings::Settings;

#[cfg(unix)]
#[test]
fn says_everything_that_was_tried() {
    run(async {
        let server = workspace("none").await;
        let answer = json(
            401,
            serde_json::json!({"error": "invalid_client", "error_description": "Client s3cr3t unknown"}),
        );
        Mock::given(path("/oidc/v1/token"))
            .respond_with(answer)
            .mount(&server)
            .await;
        let cli = program(
            "databricks",
            "echo 'half a token s3cr3t'; echo 'Error: cannot configure: no login' >&2; exit 1",
        );
        let variables = [
            ("PATH", cli.path().to_str().unwrap()),
            ("DATABRICKS_CLIENT_ID", "id"),
            ("DATABRICKS_CLIENT_SECRET", "s3cr3t"),
            (
                "ACTIONS_ID_TOKEN_REQUEST_URL",
                "http://example.com/not-https",
            ),
        ];
        let error = connect(&server.uri(), &variables).await.unwrap_err();
        assert!(!error.is_usage());
        insta::assert_snapshot!(shown(&error, &server.uri()), @"
        cannot sign in to https://HOST. Tried, in this order:
          pat: DATABRICKS_TOKEN is not set
          oauth-m2m: cannot read an OAuth token: POST https://HOST/oidc/v1/token answered 401 (invalid_client: Client (secret) unknown); the credentials are wrong, expired or of another workspace: sign in again
          databricks-cli: `databricks auth token --host https://HOST` failed: Error: cannot configure: no login
          github-oidc: ACTIONS_ID_TOKEN_REQUEST_URL is not an https address; the job needs `permissions: id-token: write`
          azure-devops-oidc: SYSTEM_ACCESSTOKEN is not set; a step gets it by `env: SYSTEM_ACCESSTOKEN: $(System.AccessToken)`
          env-oidc: DATABRICKS_OIDC_TOKEN is not set
          file-oidc: DATABRICKS_OIDC_TOKEN_FILEPATH is not set
          github-oidc-azure: https://HOST is not a workspace on Azure
          azure-client-secret: https://HOST is not a workspace on Azure
          azure-cli: https://HOST is not a workspace on Azure
        Set the variables of one of them; DATABRICKS_AUTH_TYPE names the one to use.
        ");
        let one = [
            ("DATABRICKS_AUTH_TYPE", "azure-devops-oidc"),
            ("DATABRICKS_TOKEN", "ignored"),
        ];
        insta::assert_snapshot!(shown(&connect(&server.uri(), &one).await.unwrap_err(), &server.uri()), @"
        cannot sign in to https://HOST. Tried, in this order:
          azure-devops-oidc: SYSTEM_ACCESSTOKEN is not set; a step gets it by `env: SYSTEM_ACCESSTOKEN: $(System.AccessToken)`
        Set the variables of one of them; DATABRICKS_AUTH_TYPE names the one to use.
        ");
        let broken = [
            ("DATABRICKS_AUTH_TYPE", "pat"),
            ("DATABRICKS_TOKEN", "s3cr3t\n"),
        ];
        let error = connect(&server.uri(), &broken).await.unwrap_err();
        insta::assert_snapshot!(shown(&error, &server.uri()), @"
        cannot sign in to https://HOST. Tried, in this order:
          pat: DATABRICKS_TOKEN holds what no token holds: a space, a line break or a letter beyond ASCII
        Set the variables of one of them; DATABRICKS_AUTH_TYPE names the one to use.
        ");
    });
}

#[test]
fn wrong_settings_have_their_own_messages() {
    run(async {
        let mut said = String::new();
        for variables in [
            &[("DATABRICKS_TOKEN", "a"), ("DATABRICKS_CLIENT_ID", "b")][..],
            &[("DATABRICKS_AUTH_TYPE", "kerberos")],
            &[("DATABRICKS_AUTH_TYPE", "basic")],
            &[
                ("DATABRICKS_USERNAME", "me"),
                ("DATABRICKS_PASSWORD", "s3cr3t"),
            ],
            &[("DATABRICKS_TOKEN", "a"), ("DATABRICKS_RATE_LIMIT", "none")],
            &[
                ("DATABRICKS_TOKEN", "a"),
                ("DATABRICKS_HOST", "http://10.0.0.1"),
            ],
        ] {
            let error = connect("https://a.example", variables).await;
            // The last DATABRICKS_HOST wins, so the loop's own comes first.
            let error = match error {
                Ok(_) => {
                    let variables = variables.iter().copied();
                    Workspace::connect(&Environment::of(variables), &Wanted::default(), quick())
                        .await
                        .unwrap_err()
                }
                Err(error) => error,
            };
            assert!(error.is_usage(), "{error}");
            said += &format!("{}\n", shown(&error, "\0"));
        }
        let nothing = Workspace::connect(&Environment::default(), &Wanted::default(), quick())
            .await
            .unwrap_err();
        said += &nothing.to_string();
        insta::assert_snapshot!(said, @r#"
        more than one way to sign in is configured: oauth and pat; unset the others or name one in DATABRICKS_AUTH_TYPE
        DATABRICKS_AUTH_TYPE is "kerberos"; expected one of pat, oauth-m2m, databricks-cli, github-oidc, azure-devops-oidc, env-oidc, file-oidc, github-oidc-azure, azure-client-secret, azure-cli
        basic is configured, and bundlegate cannot sign in that way; set DATABRICKS_AUTH_TYPE to one of pat, oauth-m2m, databricks-cli, github-oidc, azure-devops-oidc, env-oidc, file-oidc, github-oidc-azure, azure-client-secret, azure-cli
        basic is configured, and bundlegate cannot sign in that way; set DATABRICKS_AUTH_TYPE to one of pat, oauth-m2m, databricks-cli, github-oidc, azure-devops-oidc, env-oidc, file-oidc, github-oidc-azure, azure-client-secret, azure-cli
        DATABRICKS_RATE_LIMIT is "none"; expected a whole number of requests a second, at least 1
        the workspace host http://10.0.0.1 is not https: a token would travel in the clear; write https:// (http:// is only for this machine)
        no workspace host: set DATABRICKS_HOST, choose a profile with DATABRICKS_CONFIG_PROFILE, or give the bundle JSON, which names it
        "#);
    });
}

const CONFIG: &str = "[DEFAULT]\nhost = https://default.example\ntoken = dapi-default\n\n\
    [prod]\nhost = https://prod.example/\ntoken = dapi-prod\n\n\
    [twin-1]\nhost = https://twin.example\ntoken = a\n[twin-2]\nhost = twin.example\ntoken = b\n[empty]\n";

/// Which host and token are chosen with this profile file.
fn resolved(variables: &[(&str, &str)], profile: Option<&str>, host: Option<&str>) -> String {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".databrickscfg"), CONFIG).unwrap();
    let environment = Environment::of(
        variables
            .iter()
            .copied()
            .chain([("HOME", home.path().to_str().unwrap())]),
    );
    let wanted = Wanted {
        profile: profile.map(str::to_owned),
        host: host.map(str::to_owned),
    };
    match Settings::resolve(&environment, &wanted) {
        Ok(settings) => format!(
            "{} {:?} {:?}",
            settings.host,
            settings.profile,
            settings.get("token")
        ),
        Err(error) => error.to_string(),
    }
}

#[test]
fn profiles() {
    let mut said = String::new();
    for (variables, profile, host) in [
        (&[][..], None, None),
        (&[], Some("prod"), None),
        (&[("DATABRICKS_CONFIG_PROFILE", "prod")], None, None),
        (
            &[("DATABRICKS_CONFIG_PROFILE", "prod")],
            Some("DEFAULT"),
            None,
        ),
        (&[], None, Some("https://prod.example")),
        (&[], None, Some("https://twin.example")),
        (&[], None, Some("https://other.example")),
        (&[], Some("prod"), Some("https://other.example")),
        (
            &[
                ("DATABRICKS_HOST", "https://env.example"),
                ("DATABRICKS_TOKEN", "dapi-env"),
            ],
            None,
            None,
        ),
        (
            &[
                ("DATABRICKS_HOST", "https://env.example"),
                ("DATABRICKS_TOKEN", "dapi-env"),
            ],
            Some("prod"),
            None,
        ),
        (&[("DATABRICKS_TOKEN", "dapi-env")], Some("prod"), None),
        (&[("DATABRICKS_TOKEN", "dapi-env")], None, None),
        (&[], Some("missing"), None),
        (&[], Some("empty"), None),
        (
            &[("DATABRICKS_CONFIG_FILE", "/nonexistent/cfg")],
            Some("prod"),
            None,
        ),
    ] {
        said += &format!("{}\n", resolved(variables, profile, host));
    }
    insta::assert_snapshot!(said, @r#"
    https://default.example Some("DEFAULT") Some("dapi-default")
    https://prod.example Some("prod") Some("dapi-prod")
    https://prod.example Some("prod") Some("dapi-prod")
    https://default.example Some("DEFAULT") Some("dapi-default")
    https://prod.example Some("prod") Some("dapi-prod")
    several profiles are for https://twin.example: twin-1, twin-2; choose one with DATABRICKS_CONFIG_PROFILE or --profile
    https://other.example None None
    wrong workspace: the bundle belongs to https://other.example, the sign-in (DATABRICKS_HOST or the profile) is for https://prod.example; correct one of them
    https://env.example None Some("dapi-env")
    DATABRICKS_HOST is https://env.example, and the profile "prod" is for https://prod.example; unset one of them
    https://prod.example Some("prod") Some("dapi-env")
    no workspace host: set DATABRICKS_HOST, choose a profile with DATABRICKS_CONFIG_PROFILE, or give the bundle JSON, which names it
    ~/.databrickscfg has no profile "missing" with settings; name one that it has, or set DATABRICKS_CONFIG_FILE
    ~/.databrickscfg has no profile "empty" with settings; name one that it has, or set DATABRICKS_CONFIG_FILE
    /nonexistent/cfg has no profile "prod" with settings; name one that it has, or set DATABRICKS_CONFIG_FILE
    "#);
}

#[test]
fn what_the_environment_holds_is_not_printed() {
    let environment = Environment::of([("DATABRICKS_TOKEN", "s3cr3t")]);
    assert_eq!(
        format!("{environment:?}"),
        r#"Environment(["DATABRICKS_TOKEN"])"#
    );
}
