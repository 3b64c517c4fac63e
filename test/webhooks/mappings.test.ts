import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allText } from "../../examples/demo/chat.ts";
import {
  example,
  issueOpened,
  pullRequestClosed,
  pullRequestOpened,
  pullRequestSynchronized,
} from "../harness/alpha-payloads.ts";
import { childrenOf, cpuTicks } from "../harness/child-processes.ts";
import { type Mapping, mappingsAt, path, pull, triggersOf } from "../harness/mappings.ts";
import type { Service } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const limit = 120_000;
let world: World;
let service: Service;

beforeAll(async () => {
  const env = { ENCRYPTION_KEY: randomBytes(32).toString("hex"), WATCHDOG_ENABLED: "true" };
  world = await startWorld({ env });
  service = world.service;
}, limit);
afterAll(() => world?.[Symbol.asyncDispose](), limit);

const { make, made, send, signed } = mappingsAt(() => service);

test("seeds four mappings once, for events that source mappings cannot tell apart", { timeout: limit }, async () => {
  expect((await service.post(`${path}/seed`)).body).toEqual({ created: 4, skipped: 0 });
  expect((await service.post(`${path}/seed`)).body).toEqual({ created: 0, skipped: 4 });
  expect(triggersOf(await service.webhook(pullRequestClosed({ merged: true })))).toEqual([202, ["pr.merged"]]);
  expect(triggersOf(await service.webhook(pullRequestClosed({ number: 2 })))).toEqual([202, ["pr.closed"]]);
  expect(triggersOf(await service.webhook(pullRequestSynchronized()))).toEqual([202, ["pr.updated"]]);
  expect(triggersOf(await service.webhook(pullRequestOpened()))).toEqual([202, ["pr.opened"]]);
  expect(triggersOf(await signed(example("pull_request_review", "submitted"), "pull_request_review"))).toEqual([
    202,
    ["pr.reviewed"],
  ]);
  const deployment = { ...example("deployment_status"), deployment_status: { state: "success" } };
  expect(triggersOf(await signed(deployment, "deployment_status"))).toEqual([202, ["deployment.completed"]]);
  const failed = { ...example("deployment_status"), deployment_status: { state: "failure" } };
  expect(triggersOf(await signed(failed, "deployment_status"))).toEqual([200, "discarded"]);
});

test("lists, gets, changes and deletes mappings", async () => {
  const { id } = await made(pull("issues.opened", ".issue.number == 4711", "pr.updated"));
  const list = await service.get<Mapping[]>(`${path}?limit=1`);
  expect([list.body.length, Number(list.headers.get("x-total-count")) >= 5]).toEqual([1, true]);
  expect((await service.get(`${path}/${id}`)).body).toMatchObject({
    jq_filter: ".issue.number == 4711",
    auth: { method: "none" },
  });
  expect((await make(pull("issues.opened", ".issue.number == 4711", "pr.updated"))).status).toBe(409);
  const changed = await service.put(`${path}/${id}`, { jq_filter: ".issue.number == 4712", canonical_trigger: "my.own" });
  expect(changed).toMatchObject({ status: 200, body: { canonical_trigger: "my.own", event_type: "issues.opened" } });
  const other = await made(pull("issues.opened", "false", "my.own"));
  expect((await service.put(`${path}/${id}`, { jq_filter: "false" })).status).toBe(409);
  expect((await service.del(`${path}/${other.id}`)).status).toBe(204);
  expect((await service.put(`${path}/${id}`, { extraction_rules: { issue_id: "$.id" } })).status).toBe(400);
  expect((await service.put(`${path}/${id}`, {})).status).toBe(400);
  expect((await service.del(`${path}/${id}`)).status).toBe(204);
  for (const gone of [service.get(`${path}/${id}`), service.put(`${path}/${id}`, { source: "x" }), service.del(`${path}/${id}`)])
    expect((await gone).status).toBe(404);
  expect((await service.get(`${path}/x`)).status).toBe(400);
});

describe("a payload without a rule for its text", () => {
  const read = async (kind: string, payload: object) => {
    await made({ source: "acme", path_pattern: `/webhook/acme/${kind}/:kind`, canonical_trigger: "issue.created" });
    const { body } = await send(`acme/${kind}/issue`, payload);
    await waitForExecutions(service, { event_id: body.event_id as string, state: "succeeded", count: 2 });
    const texts = world.model.chats().map((chat) => allText(chat));
    return texts.findLast((text) => text.includes("Webhook of acme"));
  };
  test("no member hides another from the model", { timeout: limit }, async () => {
    const title = 'Fails, "often" \\ <div hidden>, of the title';
    const payload = {
      issue: { title, body: "By the reporter <!-- " },
      comment: { body: "By the owner" },
      end: ["-->", "Last", 1],
    };
    const text = await read("whole", payload);
    for (const shown of ["Fails,", "By the reporter", "By the owner", "Last", "kind: issue"]) expect(text).toContain(shown);
    expect(text).not.toContain("of the title");
  });
  test("is read as it is if it contains no markup", { timeout: limit }, async () => {
    const payload = { issue: { title: "Fails, often", labels: ["a", "b"] }, n: [1, 2] };
    expect(await read("plain", payload)).toContain(JSON.stringify(payload));
  });
  test("where it is cut, a hidden comment that was open stays hidden", { timeout: limit }, async () => {
    const text = await read("long", { filler: "x".repeat(19_900), body: `Shown <!-- hidden ${"y".repeat(500)} -->` });
    expect(text).toContain("Shown");
    expect(text).not.toContain("hidden y");
    expect(text).toMatch(/\[cut: 20\d+ bytes in all\]/);
  });
});

const shape = { source: "acme", path_pattern: "/webhook/acme/bad", extraction_rules: { event_type: "$.type" } };
test.each([
  [pull("issues", ".a |", "a.b"), "jq_filter: is not valid jq"],
  [pull("issues", ".a) | (.b", "a.b"), "jq_filter: is not valid jq"],
  [pull("issues", 'import "x" as x; .', "a.b"), "jq_filter: is not valid jq"],
  [pull("issues", "$nosuch", "a.b"), "jq_filter: is not valid jq"],
  [{ source: "alpha", jq_filter: ".a", canonical_trigger: "a.b" }, "event_type: is required"],
  [{ source: "alpha", event_type: "issues" }, "canonical_trigger: is required"],
  [{ ...pull("issues", ".a", "a.b"), extraction_rules: {} }, "extraction_rules: cannot be combined with event_type"],
  [{ ...shape, event_type: "issues" }, "event_type: cannot be combined with path_pattern"],
  [{ ...shape, path_pattern: "/api/agents" }, "path_pattern: must be a path below /webhook/"],
  [{ ...shape, path_pattern: "/webhook/(a+)+" }, "path_pattern: must be segments"],
  [{ ...shape, path_pattern: "/webhook/alpha" }, "path_pattern: /webhook/alpha is the webhook of alpha itself"],
  [{ ...shape, extraction_rules: { event_type: "type" } }, "extraction_rules.event_type: must be a JSONPath"],
  [{ ...shape, extraction_rules: { event_type: "$.a", isue_id: "$.b" } }, "extraction_rules.isue_id: must be one of"],
  [{ ...shape, extraction_rules: { issue_id: "$.b" } }, "extraction_rules: must contain event_type"],
  [{ ...shape, auth: { method: "magic" } }, "auth"],
  [{ ...shape, auth: { method: "token", header: "X-Token" } }, "auth.secret"],
  [{ ...shape, auth: { method: "ip_allowlist", cidrs: ["10.0.0.0/99"] } }, "auth.cidrs"],
  [{ ...shape, source: "Not A Name" }, "source"],
])("refuses %j", async (mapping, error) => {
  const { status, body } = await make(mapping);
  expect([status, body.error]).toEqual([400, expect.stringContaining(error)]);
});

test("a custom source: events by JSONPath are stored, run and replayed", { timeout: limit }, async () => {
  const { id } = await made({
    source: "acme",
    path_pattern: "/webhook/acme/:project_id",
    extraction_rules: {
      event_type: "$.kind",
      issue_id: "$.ticket.id",
      title: "$.ticket.name",
      delivery_id: "$.delivery",
      actor: "$.by",
      text: "$.ticket.words",
    },
  });
  const payload = {
    kind: "ticket.made",
    ticket: { id: 12, name: "Fire", words: "The printer burns." },
    delivery: "d1",
    by: "ada",
  };
  const early = await send("acme/printers", { ...payload, delivery: "d0" });
  expect(triggersOf(early)).toEqual([200, "discarded"]);
  const event = { source: "acme", event_name: "ticket.made", canonical_trigger: "ticket.made" };
  expect((await service.post("/api/tasks/sources", { ...event, source: "nobody" })).status).toBe(400);
  expect((await service.post("/api/tasks/sources", event)).status).toBe(201);
  const task = { id: "look_at_ticket", name: "Look", description: "Look at it.", actor_id: "pm_default" };
  await service.post("/api/tasks", task);
  await service.post("/api/tasks/triggers", { canonical_trigger: "ticket.made", task_id: task.id });
  const first = await send("acme/printers", payload);
  expect(triggersOf(first)).toEqual([202, ["ticket.made"]]);
  const [execution] = await waitForExecutions(service, { event_id: first.body.event_id });
  expect(execution).toMatchObject({ state: "succeeded", result: "Answer of Look", result_url: null, error: null });
  expect(JSON.stringify(world.model.requests.at(-1))).toContain("The printer burns.");
  expect((await service.get(`/api/webhook-events/${first.body.event_id}`)).body).toMatchObject({
    source: "acme",
    slug: "acme/printers",
    subject: "acme:printers#12",
    subject_title: "Fire",
    actor: "ada",
    delivery_id: "d1",
  });
  expect((await send("acme/printers", payload)).body.status).toBe("duplicate");
  expect((await service.post(`/api/webhook-events/${first.body.event_id}/replay`)).status).toBe(202);
  expect((await send("acme/printers", { ticket: {} })).body.status).toBe("discarded");
  expect((await send("acme", payload)).status).toBe(404);
  expect((await service.post("/webhook/acme/printers", "{")).status).toBe(400);
  expect((await service.del(`${path}/${id}`)).status).toBe(204);
  expect((await send("acme/printers", payload)).status).toBe(404);
  expect((await service.post(`/api/webhook-events/${first.body.event_id}/replay`)).status).toBe(404);
});

test("several mappings at one path: each match fires its trigger, each task runs once", { timeout: limit }, async () => {
  const at = (jq_filter: string, canonical_trigger: string) =>
    made({
      source: "build",
      path_pattern: "/webhook/build",
      jq_filter,
      canonical_trigger,
      extraction_rules: { issue_id: "$.id" },
    });
  await at('.state == "red"', "build.red");
  await at(".loud", "build.loud");
  for (const canonical_trigger of ["build.red", "build.loud"])
    await service.post("/api/tasks/triggers", { canonical_trigger, task_id: "triage_initial_intent" });
  const both = await send("build", { id: 1, state: "red", loud: true });
  expect(triggersOf(both)).toEqual([202, ["build.red", "build.loud"]]);
  expect(both.body.executions).toHaveLength(1);
  expect(triggersOf(await send("build", { id: 1, loud: true }))).toEqual([202, ["build.loud"]]);
  expect((await send("build", { id: 1 })).body.status).toBe("discarded");
});

test("a path that looks like an integration's runs its tasks", { timeout: limit }, async () => {
  const slug = randomUUID();
  const { id } = await made({
    source: "alpha",
    path_pattern: `/webhook/${slug}`,
    canonical_trigger: "issue.created",
    extraction_rules: { event_type: "$.kind" },
  });
  const { body } = await send(slug, { kind: "ping" });
  const executions = await waitForExecutions(service, { event_id: body.event_id, count: 2 });
  expect(executions.map(({ state }) => state)).toEqual(["succeeded", "succeeded"]);
  expect((await service.del(`${path}/${id}`)).status).toBe(204);
});

test("a filter that fails or does not end matches nothing, and is reported", { timeout: limit }, async () => {
  const failing = await made(pull("issues.opened", ".issue.title.nothing", "my.failing"));
  const endless = await made(pull("issues.opened", "def f: f; f", "my.endless"));
  const used = () => childrenOf(service.pid).reduce((sum, pid) => sum + (cpuTicks(pid) || 0), 0);
  // Other requests are answered while it is being evaluated, which takes a second. If the machine holds the test up for longer,
  // that shows nothing, so another webhook is sent.
  let isAnsweredFirst = true;
  for (let number = 5_001; isAnsweredFirst && number <= 5_010; number++) {
    const before = used();
    const began = performance.now();
    let answered = false;
    const sent = service.webhook(issueOpened({ number })).finally(() => {
      answered = true;
    });
    await eventually(() => used() > before + 2, { interval: 10 });
    expect((await service.get("/health")).status).toBe(200);
    isAnsweredFirst = answered;
    if (isAnsweredFirst) expect(performance.now() - began).toBeGreaterThan(1_000);
    expect(triggersOf(await sent)).toEqual([202, ["issue.created"]]);
  }
  expect(isAnsweredFirst).toBe(false);
  for (const { id } of [failing, endless]) expect((await service.del(`${path}/${id}`)).status).toBe(204);
  for (const words of ["Cannot index string", "did not finish"]) await eventually(() => service.logs().includes(words));
});

test("a trigger mapped to a missing task causes a warning and no run", { timeout: limit }, async () => {
  await made(pull("issues.opened", '.repository.full_name == "octo/nobody"', "nobody.works"));
  const task = { id: "made_no_more", name: "Gone", description: "Gone.", actor_id: "pm_default" };
  await service.post("/api/tasks", task);
  await service.post("/api/tasks/triggers", { canonical_trigger: "nobody.works", task_id: task.id });
  expect((await service.del(`/api/tasks/${task.id}`)).status).toBe(204);
  const { status, body } = await signed(issueOpened({ repo: "octo/nobody" }), "issues");
  expect([status, body.executions]).toEqual([202, []]);
  await eventually(async () => {
    const warned = await service.get<{ context: object }[]>("/api/watchdog?level=warn&search=tasks%20that%20do%20not%20exist");
    expect(warned.body[0]?.context).toEqual({ canonical_trigger: "nobody.works", missing: ["made_no_more"] });
    return true;
  });
});
