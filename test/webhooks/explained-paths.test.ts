import { afterAll, beforeAll, expect, test } from "vitest";
import { mappingsAt, path } from "../harness/mappings.ts";
import { expectRefused } from "../harness/refused.ts";
import type { Service } from "../harness/service.ts";
import { login, startWorld, type World } from "../harness/world.ts";

const limit = 120_000;
let world: World;
let service: Service;

beforeAll(async () => {
  world = await startWorld();
  service = world.service;
}, limit);
afterAll(() => world?.[Symbol.asyncDispose](), limit);

const { made, send } = mappingsAt(() => service);

test("a source of a mapping is explained, found by its issues, and paused", { timeout: limit }, async () => {
  const { id } = await made({
    source: "depot",
    path_pattern: "/webhook/depot/:project_id",
    extraction_rules: { event_type: "$.kind", issue_id: "$.ticket" },
    canonical_trigger: "issue.created",
  });
  const payload = { kind: "arrived", ticket: "7" };
  const explain = (more: object) => service.post("/api/tasks/resolve", { source: "depot", payload, ...more });
  expect((await explain({ path: "/webhook/depot/north" })).body).toMatchObject({
    source: "depot",
    event: "arrived",
    subject: "depot:north#7",
    outcome: "dispatched",
    canonical_trigger: "issue.created",
    checks: [{ check: "event" }, { check: `webhook_mapping:${id}`, passes: true }, { check: "source_mapping", passes: true }],
    tasks: [{ starts: true }, { starts: true }],
  });
  expect((await explain({})).body).toMatchObject({ source: "depot", subject: "depot:depot#7", outcome: "dispatched" });
  expectRefused(await explain({ source: "dept" }), 404, /no source "dept"/);
  expectRefused(await explain({ path: "/webhook/deppot/north" }), 404, /accepts webhooks at "\/webhook\/deppot\/north"/);
  expect((await service.post("/api/pause", { scope: "source", id: "depot", reason: "Full" })).status).toBe(200);
  expect((await send("depot/north", payload)).status).toBe(202);
  const found = await service.get<{ subject: string; waiting_for: string }[]>("/api/task-executions?subject=north%237");
  expect(found.body.map(({ subject, waiting_for }) => [subject, waiting_for])).toEqual([
    ["depot:north#7", "source depot is paused: Full"],
    ["depot:north#7", "source depot is paused: Full"],
  ]);
  expect((await explain({ path: "/webhook/depot/north" })).body).toMatchObject({ reason: "source depot is paused: Full" });
  await service.post("/api/resume", { scope: "source", id: "depot" });
});

test("an event at the path of a mapping that our own account caused starts nothing, and its explanation says so", {
  timeout: limit,
}, async () => {
  const { id } = await made({
    source: "alpha",
    path_pattern: "/webhook/relayed",
    extraction_rules: { event_type: "$.kind", issue_id: "$.issue", actor: "$.by" },
    canonical_trigger: "issue.created",
  });
  const payload = { kind: "issues", issue: "9", by: login };
  const outcomes = async (by: string) => {
    const explained = await service.post<{ outcome: string }>("/api/tasks/resolve", {
      source: "alpha",
      path: "/webhook/relayed",
      payload: { ...payload, by },
    });
    return [explained.body.outcome, (await send("relayed", { ...payload, by })).body.status];
  };
  expect(await outcomes(login)).toEqual(["discarded", "discarded"]);
  expect(await outcomes("ada")).toEqual(["dispatched", "accepted"]);
  expect((await service.del(`${path}/${id}`)).status).toBe(204);
});
