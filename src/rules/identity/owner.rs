//! Who owns: `IS_OWNER` in permissions, and the creator of a pipeline.

use crate::effect::{is_person, looks_like_person, same_name};
use crate::json::Value;
use crate::plan::{Action, FieldPath, Segment, Sub};
use crate::text::{quoted, visible};

use super::super::access::{Text, Who, permissions_after, permissions_now};
use super::super::{Context, Doc, Family, Found, Rule, fires, quiet, unknown};

rule!(Owner, Doc {
    id: "owner",
    family: Family::Identity,
    trigger: "An IS_OWNER entry names a person or, where the policy has `identity.deployer`, anyone else.",
    impact: "The owner can change and delete it outside CI, and when the person leaves nobody can.",
    remedy: "Deploy as the service principal that `identity.deployer` names; take the IS_OWNER entry out of the YAML.",
    source: "Databricks CLI 1.13, reproduced: IS_OWNER of whoever ran `plan` is written into the permissions",
    needs: &[],
    examples: &[
        fires(r#""pipelines.orders": {"action": "skip", "remote_state": {"name": "o"}}, "pipelines.orders.permissions": {"action": "create", "new_state": {"value": {"object_id": "/pipelines/1", "__embed__": [{"level": "IS_OWNER", "user_name": "someone@example.com"}]}}}"#),
        fires(r#""jobs.a": {"action": "skip", "remote_state": {"name": "o"}}, "jobs.a.permissions": {"action": "create", "new_state": {"value": {"object_id": "/jobs/1", "__embed__": [{"level": "IS_OWNER", "service_principal_name": "b"}]}}}"#).policy("identity: {deployer: {service_principal: a}}"),
        quiet(r#""jobs.a": {"action": "skip", "remote_state": {"name": "o"}}, "jobs.a.permissions": {"action": "create", "new_state": {"value": {"object_id": "/jobs/1", "__embed__": [{"level": "IS_OWNER", "service_principal_name": "a"}, {"level": "CAN_VIEW", "user_name": "someone@example.com"}]}}}"#),
        unknown(r#""apps.portal": {"action": "create", "new_state": {"value": {"name": "portal"}}}, "jobs.a": {"action": "skip", "remote_state": {"name": "o"}}, "jobs.a.permissions": {"action": "create", "depends_on": [{"node": "resources.apps.portal"}], "new_state": {"value": {"object_id": "/jobs/1", "__embed__": [{"level": "IS_OWNER", "user_name": ""}]}, "vars": {"__embed__[0].user_name": "${resources.apps.portal.creator}"}}}"#),
    ],
}, |cx, out| {
    for e in cx.world.of_sub(Sub::Permissions).filter(|e| e.action() != Action::Delete) {
        let list = match permissions_after(cx.world, e) {
            Some(Ok(list)) => list,
            Some(Err(text)) => {
                out.push(Found::on(e, format!("Who owns it waits for {}.", visible(&text))).path(FieldPath::default()).unknown());
                continue;
            }
            None => permissions_now(e),
        };
        for item in list.iter().filter(|i| i.level == Text::Is("IS_OWNER".to_owned())) {
            let owner = match &item.who {
                Who::Is(owner) => owner,
                Who::Waits(_, text) => {
                    out.push(Found::on(e, format!("Who owns it waits for {}.", visible(text))).path(FieldPath::default()).unknown());
                    continue;
                }
                Who::Nobody => continue,
            };
            let wrong = match &cx.policy.identity.deployer {
                Some(deployer) if !same_name(deployer.value.name(), &owner.name) => Some(format!("Its owner is {}; the policy names {} as deployer.", owner.words(), quoted(deployer.value.name()))),
                None if is_person(owner) => Some(format!("Its owner is the person {}.", quoted(&owner.name))),
                _ => None,
            };
            if let Some(message) = wrong {
                let path = FieldPath::from(vec![Segment::Item(owner.kind.field().into(), owner.name.as_str().into()), Segment::Field("level".into())]);
                out.push(Found::on(e, message).path(path).from_to(None, Some(&owner.name)));
            }
        }
    }
});

rule!(
    CreatorPerson,
    Doc {
        id: "creator-person",
        family: Family::Identity,
        trigger: "The creator of an existing pipeline is a person.",
        impact: "run_as does not change the owner of a pipeline: the creator can change and delete it outside CI.",
        remedy: "Give the ownership of the pipeline to a service principal (permissions, IS_OWNER).",
        source: "Databricks documentation: pipeline owner and run as; creator_user_name in remote_state",
        needs: &[],
        examples: &[
            fires(
                r#""pipelines.orders": {"action": "skip", "remote_state": {"creator_user_name": "someone@example.com"}}"#
            ),
            quiet(
                r#""pipelines.orders": {"action": "skip", "remote_state": {"creator_user_name": "5f0c6c1e-0000-4000-8000-0000000000bb"}}"#
            ),
        ],
    },
    |cx, out| {
        for e in cx.world.of_kind("pipelines").filter(|e| !e.loses()) {
            let Some(creator) = e
                .remote()
                .and_then(|r| r.get("creator_user_name"))
                .and_then(Value::as_str)
            else {
                continue;
            };
            if looks_like_person(creator) {
                out.push(
                    Found::on(
                        e,
                        format!("It was created by the person {}.", quoted(creator)),
                    )
                    .field(&["creator_user_name"])
                    .remote_text(creator),
                );
            }
        }
    }
);
