//! Whom resources run as, and who deploys.

use serde::Serialize;

use super::decode::{Cx, Decode, record};
use super::diagnostic::Diagnostic;
use super::location::{At, Location};
use super::selector::Selector;
use super::yaml::Node;

/// Whom resources run as, and who deploys.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Identity {
    /// Whom resources run as; the first entry that selects a resource holds.
    pub run_as: Vec<At<RunAsRule>>,
    /// Who deploys.
    pub deployer: Option<At<Principal>>,
}

impl Identity {
    /// What the policy says about the resource with this short key; the first match holds.
    #[must_use]
    pub fn run_as_for(&self, key: &str) -> Option<&At<RunAsRule>> {
        self.run_as
            .iter()
            .find(|rule| rule.resources.iter().any(|selector| selector.matches(key)))
    }
}

record! {
    /// Whom resources run as, and who deploys them.
    pub(super) struct IdentitySection ("`identity`") {
        /// Whom resources run as; the first entry that selects a resource holds.
        pub(super) run_as: Option<Vec<At<RunAsRule>>>,
        /// Who deploys.
        pub(super) deployer: Option<At<Principal>>,
    }
}

record! {
    /// Exactly one of `user`, `group` and `service_principal`.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
    struct PrincipalFields ("a principal") {
        /// The login of a user.
        user: Option<At<String>>,
        /// The name of a group.
        group: Option<At<String>>,
        /// The application id of a service principal.
        service_principal: Option<At<String>>,
    }
}

record! {
    /// Whom the selected resources run as: exactly one of `user`, `group` and `service_principal`.
    #[schemars(extend("minProperties" = 2, "maxProperties" = 2))]
    struct RunAsFields ("an entry of `identity.run_as`") {
        /// The resources.
        resources: Vec<At<Selector>>,
        /// The login of a user.
        user: Option<At<String>>,
        /// The name of a group.
        group: Option<At<String>>,
        /// The application id of a service principal.
        service_principal: Option<At<String>>,
    }
}

/// Who a resource runs as, or who deploys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Principal {
    /// The login of a user.
    User(String),
    /// The name of a group.
    Group(String),
    /// The application id of a service principal.
    ServicePrincipal(String),
}

impl Principal {
    /// The key that names it in the policy.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Group(_) => "group",
            Self::ServicePrincipal(_) => "service_principal",
        }
    }

    /// Its login, name or application id.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::User(name) | Self::Group(name) | Self::ServicePrincipal(name) => name,
        }
    }

    fn one_of(fields: PrincipalFields, at: &Location, cx: &mut Cx) -> Option<Self> {
        let given = [
            fields.user.map(|name| (name.at, Self::User(name.value))),
            fields.group.map(|name| (name.at, Self::Group(name.value))),
            fields
                .service_principal
                .map(|name| (name.at, Self::ServicePrincipal(name.value))),
        ];
        let mut given = given.into_iter().flatten();
        let expected = "expected one of `user`, `group` and `service_principal`";
        let Some((name_at, principal)) = given.next() else {
            cx.report(Diagnostic::error(at, format!("{expected}, found none")));
            return None;
        };
        if let Some((second_at, second)) = given.next() {
            let message = format!(
                "{expected}, found `{}` and `{}`",
                principal.kind(),
                second.kind()
            );
            cx.report(Diagnostic::error(&second_at, message).related(&name_at, "the other"));
            return None;
        }
        if let (Self::ServicePrincipal(name), true) = (&principal, principal.name().contains('@')) {
            let message = format!(
                "a service principal is named by its application id, found {}",
                super::text::quoted(name)
            );
            cx.report(Diagnostic::error(&name_at, message).help("for a person: `user`"));
            return None;
        }
        Some(principal)
    }
}

impl Decode for Principal {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        let at = node.at.clone();
        let fields = PrincipalFields::decode(node, cx)?;
        Self::one_of(fields, &at, cx)
    }
}

impl schemars::JsonSchema for Principal {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Principal".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        PrincipalFields::json_schema(generator)
    }
}

/// Whom the selected resources run as.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunAsRule {
    /// The resources.
    pub resources: Vec<At<Selector>>,
    /// Whom they run as.
    pub principal: Principal,
}

impl Decode for RunAsRule {
    fn decode(node: Node, cx: &mut Cx) -> Option<Self> {
        let at = node.at.clone();
        let before = cx.diagnostics.len();
        let RunAsFields {
            resources,
            user,
            group,
            service_principal,
        } = RunAsFields::decode(node, cx)?;
        if cx.diagnostics.len() > before {
            return None;
        }
        if resources.is_empty() {
            cx.report(
                Diagnostic::error(&at, "an entry of `identity.run_as` selects nothing")
                    .help("such as `resources: [\"jobs.*\"]`"),
            );
            return None;
        }
        let principal = Principal::one_of(
            PrincipalFields {
                user,
                group,
                service_principal,
            },
            &at,
            cx,
        )?;
        Some(Self {
            resources,
            principal,
        })
    }
}

impl schemars::JsonSchema for RunAsRule {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RunAsRule".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        RunAsFields::json_schema(generator)
    }
}
