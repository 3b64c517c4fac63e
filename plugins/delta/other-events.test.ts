import { joinedText } from "@signalbox/sdk";
import { setUpPlugin } from "@signalbox/sdk/testing";
import { expect, test } from "vitest";
import delta from "./index.ts";

/** After https://developers.plane.so/dev-tools/intro-webhooks and the sources of the community edition. */
const project = "11111111-0000-4000-8000-000000000001";
const issue = "11111111-0000-4000-8000-000000000002";

async function read(payload: object) {
  const { sources } = await setUpPlugin(delta);
  if (!sources?.delta) throw new Error("delta has no source");
  return sources.delta.parse({ headers: {}, payload: payload as never });
}

test.each([
  [
    { event: "project", action: "update", data: { id: project, name: "Shop", identifier: "SHOP" } },
    ["# Project: Shop", "Action: updated", "Identifier: SHOP"],
  ],
  [
    { version: "v2", event: "module.created", data: { name: "Billing", status: "planned", target_date: "2026-06-05" } },
    ["# Module: Billing", "State: planned", "End: 2026-06-05"],
  ],
  [
    { version: "v2", event: "WebhookScope.ScopeChoices.CYCLE_UPDATED", data: { name: "Sprint 12" } },
    ["# Cycle: Sprint 12", "Action: updated"],
  ],
  [
    { version: "v2", event: "page.created", data: { name: "Runbook", description_html: "<p>First</p>" } },
    ["# Page: Runbook", "First"],
  ],
  [{ event: "cycle", action: "deleted", data: { id: "c" } }, ["# Cycle", "Action: deleted"]],
  [{ event: "module_issue", action: "created", data: { module: { name: "Billing" } } }, ["# Module issue: Billing"]],
])("%j says what happened and is about no issue", async (payload, parts) => {
  const event = await read(payload);
  expect(event).toMatchObject({ subject: null, missing_field: null });
  for (const part of parts) expect(joinedText(event.text)).toContain(part);
});

test("an issue that was added to a cycle is what the event is about", async () => {
  const data = { cycle: { name: "Sprint 12" }, issue, project };
  const event = await read({ event: "cycle_issue", action: "created", data });
  expect(event).toMatchObject({
    subject: { project, issue },
    incomplete: true,
    text: ["# Cycle issue: Sprint 12", "- Action: created"],
  });
});

test("deletions say so", async () => {
  const deleted = await read({ event: "issue", action: "deleted", data: { id: issue } });
  const comment = await read({ event: "issue_comment", action: "deleted", data: { id: "c", issue } });
  expect([deleted.changes, comment.changes]).toEqual([["issue: deleted"], ["comment: deleted"]]);
  expect(joinedText(deleted.text)).toContain("- issue: deleted");
});

test("an update to a state of the group completed or cancelled closes the issue; another change of such an issue does not", async () => {
  const state = (group: string) => ({ id: issue, project, state: { id: "s", name: "S", group } });
  const update = { event: "issue", action: "updated" };
  for (const group of ["completed", "cancelled"])
    expect(await read({ ...update, data: state(group), activity: { field: "state_id" } })).toMatchObject({ closes: true });
  const before = { version: "v2", event: "workitem.updated", previous_attributes: { state_id: "o" } };
  expect(await read({ ...before, data: state("completed") })).toMatchObject({ closes: true });
  const completed = { id: issue, project_id: project, state_id: "s", completed_at: "2026-03-31T11:44:41.249292+00:00" };
  expect(await read({ ...before, data: completed })).toMatchObject({ closes: true });
  for (const more of [
    { ...before, data: { ...completed, completed_at: null } },
    { ...before, data: { ...completed, completed_at: "None" } },
    { ...before, data: completed, previous_attributes: { name: "Before" } },
    { data: state("started"), activity: { field: "state_id" } },
    { data: state("completed"), activity: { field: "priority" } },
    { data: { id: issue, project, state_id: "s" }, activity: { field: "state_id" } },
  ])
    expect((await read({ ...update, ...more })).closes).toBeUndefined();
});

test("the word None of the platform's documentation is nothing", async () => {
  const data = { id: issue, name: "Late", project_id: project, state_id: "None", parent_id: "None", updated_by_id: "None" };
  const event = await read({
    version: "v2",
    event: "workitem.updated",
    event_id: "e-1",
    data,
    previous_attributes: { parent_id: "p-1" },
  });
  expect(event).toMatchObject({ actor: null, delivery_id: "e-1", changes: ["parent: p-1 → none"] });
});
