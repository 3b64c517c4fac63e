import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { issueCommented, issueOpened } from "../harness/alpha-payloads.ts";
import { quarantinePlugins } from "../harness/quarantine.ts";
import { type Service, startService } from "../harness/service.ts";
import { buildTickets } from "../harness/tickets-plugin.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld } from "../harness/world.ts";

interface Counts {
  readonly events: number;
  readonly memories: number;
}
const eraseAt = (service: Service) => async (target: object) => {
  const { status, body } = await service.post<Counts>("/api/erase", target);
  return { status, events: body.events, memories: body.memories };
};

test("an erasure reaches webhooks that wait for their plugin", { timeout: 120_000 }, async () => {
  const secret = "shared-with-the-sender";
  await using service = await startService({ env: { PLUGIN_TICKETS__WEBHOOK_SECRET: secret, WEBHOOK_REPLAY_HOURS: "1" } });
  const { body: bundle } = await buildTickets("tickets", true);
  await service.post("/api/plugins", bundle);
  expect((await service.post("/api/plugins/tickets/approve", {})).status).toBe(200);
  await quarantinePlugins(service);
  const deliver = async (payload: object) => {
    const body = JSON.stringify(payload);
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const headers = { "content-type": "application/json", "ticket-signature": signature };
    const answer = await fetch(`${service.url}/webhook/tickets`, { method: "POST", headers, body });
    return { code: answer.status, ...((await answer.json()) as { event_id: string; status: string }) };
  };
  const send = async (payload: object) => {
    const { code, event_id } = await deliver(payload);
    expect(code).toBe(202);
    return event_id;
  };
  const large = "x".repeat(400_000);
  const payload = { number: 1, title: "One", project: "p", reporter: { login: "Mona" }, large };
  const ofMona = await send(payload);
  const second = await send({ number: 2, title: "Two", page: "https://tickets.example/p/2", reporter: { login: "Monalisa" } });
  const third = await send({ number: 3, title: "Three", project: "p-2", reporter: { login: "Bob" } });
  expect((await service.post("/api/plugins/tickets/disable")).status).toBe(200);

  const erase = eraseAt(service);
  expect(await erase({ actor: "mona", dry_run: true })).toMatchObject({ status: 200, events: 1 });
  expect(await erase({ actor: "mona" })).toMatchObject({ status: 200, events: 1 });
  expect(await erase({ subject: "tickets:p#2" })).toMatchObject({ status: 200, events: 1 });
  expect(await erase({ subject: "tickets:p#2" })).toMatchObject({ status: 200, events: 0 });

  await service.post("/api/plugins/tickets/enable");
  const read = await eventually(async () => {
    const { body } = await service.get<{ id: string; event_name: string; reason: string }[]>(
      "/api/webhook-events?source=tickets",
    );
    return body.some(({ id }) => id === third) ? body : null;
  });
  const reason = "its payload was erased before its plugin could parse it";
  for (const id of [ofMona, second]) expect(read.find((one) => one.id === id)).toMatchObject({ event_name: "", reason });
  expect(read.find(({ id }) => id === third)).toMatchObject({ event_name: "ticket" });
  expect(JSON.stringify((await service.get(`/api/webhook-events/${ofMona}`)).body)).not.toContain("Mona");
  // Also if it is delivered again.
  expect(await deliver(payload)).toMatchObject({ event_id: ofMona, status: "duplicate" });
});

test("the memories of a deleted project are erased by its id", { timeout: 120_000 }, async () => {
  await using service = await startService();
  const project = { name: "Shop", source: "alpha", source_project_id: "acme/gone" };
  const { id: project_id } = (await service.post<{ id: number }>("/api/projects", project)).body;
  const memory = { key: "left", content: "Deploys on Friday.", scope: "project", project_id };
  expect((await service.post("/api/memory", memory)).status).toBe(201);
  expect((await service.del(`/api/projects/${project_id}`)).status).toBe(204);
  const erase = eraseAt(service);
  expect(await erase({ project_id, dry_run: true })).toMatchObject({ status: 200, memories: 1 });
  expect(await erase({ project_id })).toMatchObject({ status: 200, memories: 1 });
  expect((await service.get("/api/memory/left")).status).toBe(404);
  expect((await erase({ project_id })).status).toBe(404);
});

for (const [store, tags] of [["the database", []] as const, ["Redis", ["redis"]] as const])
  test(`an erasure removes memories of the scope task in ${store}`, { timeout: 120_000, tags: [...tags] }, async () => {
    const env = tags.length > 0 ? { REDIS_URL: process.env.TEST_REDIS_URL ?? "" } : { REDIS_URL: "" };
    await using world = await startWorld({ tasks: ["first"], env });
    const { service } = world;
    await service.webhook(issueOpened({ repo: "octo/app", number: 1 }));
    const [execution] = await waitForExecutions(service, { count: 1, state: "succeeded" });
    const memory = { key: "of-the-run", content: "Mona likes tea.", scope: "task", task_id: execution?.id };
    expect((await service.post("/api/memory", memory)).status).toBe(201);
    expect(await eraseAt(service)({ subject: "octo/app#1" })).toMatchObject({ status: 200, memories: 1 });
    expect((await service.get("/api/memory/of-the-run")).status).toBe(404);
  });

test("the audit log shows with a key that two erasures concern one person, and never a digest to guess", {
  timeout: 120_000,
}, async () => {
  const pseudonyms = async (env: Record<string, string>) => {
    await using service = await startService({ env });
    for (const actor of ["Mona", "mona", "bob"]) expect((await service.post("/api/erase", { actor })).status).toBe(200);
    const { body } = await service.get<{ after: { actor: string } }[]>("/api/audit-log?operation=data.erase");
    return body.map(({ after }) => after.actor).reverse();
  };
  const [first, again, other] = await pseudonyms({ ENCRYPTION_KEY: "ab".repeat(32) });
  expect(first).toMatch(/^hmac-sha256:[0-9a-f]{16}$/);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
  const [withOtherKey] = await pseudonyms({ ENCRYPTION_KEY: "cd".repeat(32) });
  expect(withOtherKey).not.toBe(first);
  const random = await pseudonyms({});
  expect(random).toEqual(random.map(() => expect.stringMatching(/^random:[0-9a-f]{16}$/)));
  expect(new Set(random).size).toBe(3);
});

test("the audit log records an erasure before it begins, and no preview", { timeout: 120_000 }, async () => {
  await using service = await startService();
  await service.webhook(issueOpened({ repo: "octo/app", number: 1, sender: "mona" }));
  const erase = eraseAt(service);
  expect(await erase({ actor: "mona", dry_run: true })).toMatchObject({ status: 200 });
  expect(await erase({ actor: "mona" })).toMatchObject({ status: 200 });
  const { body } = await service.get<{ operation: string; after: object; request_id: string }[]>("/api/audit-log?limit=3");
  const actor = expect.stringMatching(/^random:/);
  const entries = body.filter(({ operation }) => operation.startsWith("data.erase"));
  expect(entries).toMatchObject([
    { operation: "data.erase", after: { actor, events: 1 } },
    { operation: "data.erase.start", after: { actor, dry_run: false } },
  ]);
  expect(entries[0]?.request_id).toBe(entries[1]?.request_id);
});

test("the name of a person is erased from the executions of others that they stopped or decided about", {
  timeout: 120_000,
}, async () => {
  await using world = await startWorld({ tasks: ["first"], env: { WATCHDOG_ENABLED: "true" } });
  const { service, model } = world;
  const repo = "octo/app";
  const by = (sender: string) => ({ sender: { id: sender.length, login: sender, type: "User" } });
  const owner = { comment: { author_association: "OWNER" } };
  const say = (number: number, comment: string, sender: string) =>
    service.webhook(issueCommented({ repo, number, comment, sender }, { ...by(sender), ...owner }));
  const state = async (id: string, wanted: string) =>
    eventually(async () => (await service.get<{ state: string }>(`/api/task-executions/${id}`)).body.state === wanted);
  const opened = async (number: number) =>
    String((await service.webhook(issueOpened({ repo, number, sender: "bob" }))).body.executions?.[0]?.id);

  model.answerWith({ reply: { content: "late", delayMs: 60_000 }, times: 2 });
  const [stopped, stoppedByOther] = [await opened(1), await opened(2)];
  for (const id of [stopped, stoppedByOther]) await state(id, "running");
  await say(1, "/stop I am ill", "zebrafinch");
  await say(2, "/stop", "zebrafinch-2");
  for (const id of [stopped, stoppedByOther]) await state(id, "cancelled");
  const project = { name: "App", source: "alpha", source_project_id: repo, policy: { staged: true } };
  expect((await service.post("/api/projects", project)).status).toBe(201);
  const [rejected, approved] = [await opened(3), await opened(4)];
  for (const id of [rejected, approved]) await state(id, "waiting");
  await say(3, "/reject I am ill", "zebrafinch");
  await say(4, "/approve", "zebrafinch");
  await state(rejected, "cancelled");
  await state(approved, "succeeded");
  const shown = async () => {
    const ids = [stopped, stoppedByOther, rejected, approved];
    return Promise.all(ids.map(async (id) => JSON.stringify((await service.get(`/api/task-executions/${id}`)).body)));
  };
  const named = /zebrafinch(?!-2)|I am ill/;
  const before = await shown();
  expect(before.map((text) => named.test(text))).toEqual([true, false, true, true]);

  expect(await eraseAt(service)({ actor: "zebrafinch" })).toMatchObject({ status: 200, events: 3 });
  const after = await shown();
  expect(after.map((text) => named.test(text))).toEqual([false, false, false, false]);
  expect(after[0]).toContain("stopped by alpha:someone (event ");
  expect(after[1]).toBe(before[1]);
  expect(after[2]).toContain("Rejected by alpha:someone");
  expect(JSON.parse(after[3] as string)).toMatchObject({ state: "succeeded", result: JSON.parse(before[3] as string).result });
  for (const path of ["/api/agents/pm_default/audit", `/api/subjects/alpha/${encodeURIComponent(repo)}/1`])
    expect(JSON.stringify((await service.get(path)).body)).not.toMatch(named);
});

test("an erasure of an issue reaches webhooks that name it without its project", async () => {
  await using service = await startService();
  const [project, issue] = ["8a2f6f0e-3b7e-4c57-9f6b-1f0d9c6f7a10", "0c6d9f12-52b5-4f0e-9d2f-000000000046"];
  const comment = { id: "c-1", access: "EXTERNAL", issue_id: issue, comment_stripped: "My address is 1 High Street." };
  const data = { id: issue, name: "Crash", comment };
  const payload = {
    version: "v2",
    event: "workitem.comment.created",
    event_id: "e-1",
    entity_type: "issue",
    entity_id: issue,
    data,
  };
  const { body } = await service.post<{ event_id: string }>("/webhook/delta", payload);
  const stored = async () => JSON.stringify((await service.get(`/api/webhook-events/${body.event_id}`)).body);
  expect(await stored()).toContain("High Street");
  expect(await eraseAt(service)({ subject: `delta:${project}#${issue}` })).toMatchObject({ status: 200, events: 1 });
  expect(await stored()).not.toContain("High Street");
});
