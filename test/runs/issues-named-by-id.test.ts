import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allText } from "../../examples/demo/chat.ts";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { project, workspace } from "../../plugins/delta/test-tracker.ts";
import { ann } from "../harness/delta-payloads.ts";
import { closeFour, type FourTrackers, fourEnv, newIssue, seedLook, startFour } from "../harness/four-sources.ts";
import { deltaIssue } from "../harness/payload-table.ts";
import { type Service, startService } from "../harness/service.ts";
import { type ExecutionSeen, eventually, waitForExecutions } from "../harness/wait.ts";
import type { Receipt } from "../harness/webhooks.ts";

/** Texts with this word are answered once the gate of the test is open. */
const slow = /wait-(\d+)/;
const gates = new Map<string, () => void>();

let model: Model;
let service: Service;
let trackers: FourTrackers;

beforeAll(async () => {
  const script = async (request: Parameters<typeof allText>[0]) => {
    const [, gate] = slow.exec(allText(request)) ?? [];
    if (gate !== undefined) await new Promise<void>((open) => gates.set(gate, open));
    const hasRead = request.messages.some(({ role }) => role === "tool");
    const read = { name: "delta__get_issue", arguments: { issue: deltaIssue(99) } };
    return /read another/.test(allText(request)) && !hasRead ? { tool_calls: [read] } : { content: "Done." };
  };
  model = await startModel({ script });
  trackers = await startFour();
  const env = { LLM_BASE_URL: model.url, LLM_MODEL: "scripted", EXECUTION_RETRY_LIMIT: "0", ENCRYPTION_KEY: "ab".repeat(32) };
  service = await startService({ env: { ...env, ...fourEnv(trackers, "t") } });
  await seedLook(service, ["issue.created", "issue.commented"]);
  const [event_name, canonical_trigger] = ["issue.activity.created", "issue.commented"];
  await service.post("/api/tasks/sources", { source: "delta", event_name, canonical_trigger });
}, 180_000);
afterAll(async () => {
  for (const open of gates.values()) open();
  await closeFour(trackers, model, service);
}, 60_000);

const send = async (source: "gamma" | "delta", payload: object, headers: Readonly<Record<string, string>> = {}) => {
  const key = source === "delta" ? { "x-api-key": "test-key-1" } : {};
  const { body } = await service.post<Receipt>(`/webhook/${source}`, payload, { headers: { ...key, ...headers } });
  return body.event_id;
};
const event = async (id: string) => (await service.get<Record<string, unknown>>(`/api/webhook-events/${id}`)).body;

/** Opens an issue whose run waits for its gate. */
async function running(source: "gamma" | "delta", n: number): Promise<string> {
  const { payload, headers } = newIssue(trackers, source, n, `wait-${n}`);
  const event_id = await send(source, payload, headers);
  await eventually(() => gates.has(String(n)));
  return event_id;
}

/** A comment of the second envelope, which names no project. */
const deltaComment = (n: number, text: string) => {
  const id = deltaIssue(n);
  const comment = {
    id: randomUUID(),
    access: "EXTERNAL",
    actor_id: ann.id,
    issue_id: id,
    edited_at: null,
    comment_stripped: text,
  };
  const head = { version: "v2", event: "workitem.comment.created", event_id: randomUUID(), delivery_id: randomUUID() };
  return { ...head, entity_id: id, entity_type: "issue", data: { id, name: "Login fails", comment }, previous_attributes: {} };
};
/** A comment of Server, which names its issue only by the id in its own address. */
const gammaComment = (n: number, text: string) => {
  const { id } = trackers.gamma.issues.find(({ key }) => key === `APP-${n}`) ?? {};
  const self = `${trackers.gamma.url}/rest/api/2/issue/${id}/comment/${70_000 + n}`;
  const author = { name: "bob", key: "bob", displayName: "Bob" };
  const comment = { self, id: String(70_000 + n), author, updateAuthor: author, body: text };
  const times = { created: "2026-01-06T11:30:00.000+0000", updated: "2026-01-06T11:30:00.000+0000" };
  return { timestamp: 1_767_699_000_000 + n, webhookEvent: "comment_created", comment: { ...comment, ...times } };
};
const commentOn = { gamma: gammaComment, delta: deltaComment };
const subjectOf = { gamma: (n: number) => `gamma:APP#APP-${n}`, delta: (n: number) => `delta:${project}#${deltaIssue(n)}` };

describe.each(["gamma", "delta"] as const)("%s: a comment whose webhook names its issue only by an id", (source) => {
  test("/stop cancels the runs on the issue", async () => {
    const opened = await running(source, 41);
    const stop = await send(source, commentOn[source](41, "/stop"));
    await waitForExecutions(service, { event_id: opened, state: "cancelled" });
    await eventually(async () =>
      expect(await event(stop)).toMatchObject({
        outcome: "dispatched",
        subject: subjectOf[source](41),
        reason: expect.stringMatching(/^\/stop by .*: 1 execution cancelled$/),
      }),
    );
  });

  test("its run waits for another one on the issue, and uses up no retry", async () => {
    const opened = await running(source, 42);
    const commented = await send(source, commentOn[source](42, "Any news?"));
    const waiting = await eventually(async () => {
      const { body } = await service.get<ExecutionSeen[]>(`/api/task-executions?event_id=${commented}`);
      return body.find(({ state, waiting_for }) => state === "queued" && /on the same issue$/.test(waiting_for ?? ""));
    });
    expect(waiting).toMatchObject({ subject: subjectOf[source](42), error: null });
    gates.get("42")?.();
    await waitForExecutions(service, { event_id: opened, state: "succeeded" });
    await waitForExecutions(service, { event_id: commented, state: "succeeded" });
  });
});

/** The same on an issue that the platform does not return. */
const lostComment = (n: number, text: string) => {
  const payload = gammaComment(n, text);
  payload.comment.self = payload.comment.self.replace(/issue\/\w+/, "issue/999");
  return payload;
};

test("gamma: a command whose issue the platform does not return is not carried out, and says so", async () => {
  const retry = await send("gamma", lostComment(43, "/retry"));
  await eventually(async () =>
    expect(await event(retry)).toMatchObject({
      outcome: "discarded",
      reason: expect.stringMatching(/^\/retry was not carried out, because its issue could not be looked up/),
    }),
  );
});

test("gamma: /stop cancels what is queued under the id at once, and says that its issue could not be looked up", async () => {
  await service.post("/api/pause", { scope: "source", id: "gamma", reason: "It must stay queued." });
  const commented = await send("gamma", lostComment(47, "Any news?"));
  const stop = await send("gamma", lostComment(48, "/stop"));
  const { body: runs } = await service.get<ExecutionSeen[]>(`/api/task-executions?event_id=${commented}`);
  expect(runs).toMatchObject([{ state: "cancelled" }]);
  await eventually(async () =>
    expect(await event(stop)).toMatchObject({
      outcome: "dispatched",
      subject: "gamma:-#999",
      reason: expect.stringMatching(/: 1 execution cancelled; its issue could not be looked up: write it again/),
    }),
  );
  await service.post("/api/resume", { scope: "source", id: "gamma" });
});

test("delta: the page of an issue shows events without its project that start nothing", async () => {
  const { payload, headers } = newIssue(trackers, "delta", 50, "Text");
  await waitForExecutions(service, { event_id: await send("delta", payload, headers) });
  const removed = await send("delta", { ...deltaComment(50, "Never mind."), event: "workitem.comment.deleted" });
  expect(await event(removed)).toMatchObject({ outcome: "discarded" });
  const { body } = await service.get<{ deliveries: { event: { id: string } }[] }>(
    `/api/subjects/delta/${project}/${deltaIssue(50)}`,
  );
  expect(body.deliveries.map((one) => one.event.id)).toContain(removed);
});

test("gamma: a copy of a /stop that was carried out cancels nothing", async () => {
  const { payload, headers } = newIssue(trackers, "gamma", 49, "Text");
  await waitForExecutions(service, { event_id: await send("gamma", payload, headers), state: "succeeded" });
  await service.post("/api/pause", { scope: "source", id: "gamma", reason: "It must stay queued." });
  const commented = (comment: string, text: string) => {
    const payload = gammaComment(49, text);
    Object.assign(payload.comment, { id: comment, self: payload.comment.self.replace(/\d+$/, comment) });
    return payload;
  };
  const stop = await send("gamma", commented("80001", "/stop"));
  await eventually(async () => expect(await event(stop)).toMatchObject({ outcome: "dispatched", subject: subjectOf.gamma(49) }));
  const later = await send("gamma", commented("80002", "Please look again."));
  const copy = await send("gamma", { ...commented("80001", "/stop"), timestamp: 1_767_700_000_000 });
  expect(await event(copy)).toMatchObject({
    outcome: "discarded",
    reason: expect.stringContaining(`handled before (event ${stop})`),
  });
  const { body: runs } = await service.get<ExecutionSeen[]>(`/api/task-executions?event_id=${later}`);
  expect(runs).toMatchObject([{ state: "queued" }]);
  await service.post("/api/resume", { scope: "source", id: "gamma" });
});

test("delta: a webhook of an integration does not choose the project of what other webhooks report", async () => {
  const theirs = { api_url: trackers.delta.url, api_key: "test-key-2", workspace_slug: workspace };
  const stored = { source: "delta", name: "Customer", credentials: theirs };
  const { id: slug } = (await service.post<{ id: string }>("/api/integrations", stored)).body;
  const forged = randomUUID();
  const { payload } = newIssue(trackers, "delta", 46, "Text");
  const text = JSON.stringify(payload).replaceAll(project, forged);
  const headers = { "x-plane-event": "issue", "x-api-key": "test-key-2" };
  const { status, body } = await service.post<Receipt>(`/webhook/${slug}`, JSON.parse(text), { headers });
  expect({ status, body }).toMatchObject({ status: 202 });
  expect(await event(body.event_id)).toMatchObject({ subject: `delta:${forged}#${deltaIssue(46)}` });
  await waitForExecutions(service, { event_id: body.event_id });
  const commented = await send("delta", deltaComment(46, "Any news?"));
  await waitForExecutions(service, { event_id: commented, state: "succeeded" });
  expect(await event(commented)).toMatchObject({ subject: subjectOf.delta(46) });
});

test("delta: a deletion that contains only the id of the issue cancels its runs", async () => {
  const opened = await running("delta", 44);
  const deleted = { event: "issue", action: "deleted", data: { id: deltaIssue(44) }, activity: { actor: { id: ann.id } } };
  const closing = await send("delta", deleted, { "x-plane-event": "issue" });
  await waitForExecutions(service, { event_id: opened, state: "cancelled" });
  expect(await event(closing)).toMatchObject({ subject: subjectOf.delta(44) });
});

test("delta: a comment that is queued before the creation of its issue is stored does not run at the same time", async () => {
  await service.post("/api/pause", { scope: "source", id: "delta", reason: "It must stay queued." });
  const { payload, headers } = newIssue(trackers, "delta", 49, "wait-49");
  const commented = await send("delta", deltaComment(49, "wait-50"));
  expect(await event(commented)).toMatchObject({ subject: `delta:-#${deltaIssue(49)}` });
  const opened = await send("delta", payload, headers);
  expect(await event(opened)).toMatchObject({ subject: subjectOf.delta(49) });
  await service.post("/api/resume", { scope: "source", id: "delta" });
  const first = await eventually(() => ["49", "50"].find((gate) => gates.has(gate)));
  const [begun, other] = first === "49" ? [opened, commented] : [commented, opened];
  await eventually(async () => {
    const { body } = await service.get<ExecutionSeen[]>(`/api/task-executions?event_id=${other}`);
    return body.find(({ state, waiting_for }) => state === "queued" && /on the same issue$/.test(waiting_for ?? ""));
  });
  expect([...gates.keys()].filter((gate) => gate === "49" || gate === "50")).toEqual([first]);
  gates.get(first)?.();
  await waitForExecutions(service, { event_id: begun, state: "succeeded" });
  const second = await eventually(() => gates.get(first === "49" ? "50" : "49"));
  second();
  await waitForExecutions(service, { event_id: other, state: "succeeded" });
  expect(await event(commented)).toMatchObject({ subject: subjectOf.delta(49) });
});

test("delta: /stop with a project cancels a run that is queued without it", async () => {
  await service.post("/api/pause", { scope: "source", id: "delta", reason: "It must stay queued." });
  trackers.delta.addIssue(deltaIssue(45), "2026-01-05T10:00:00.000Z");
  const commented = await send("delta", deltaComment(45, "Any news?"));
  const data = {
    id: randomUUID(),
    issue: deltaIssue(45),
    project,
    comment_html: "<p>/stop</p>",
    access: "EXTERNAL",
    actor: ann.id,
  };
  await send("delta", { event: "issue_comment", action: "created", data, activity: { actor: ann } });
  await waitForExecutions(service, { event_id: commented, state: "cancelled" });
  await service.post("/api/resume", { scope: "source", id: "delta" });
});

test("delta: a run whose project cannot be looked up reads no other issue", async () => {
  newIssue(trackers, "delta", 99, "Why?");
  const [run] = await waitForExecutions(service, { event_id: await send("delta", deltaComment(98, "read another")) });
  const { body } = await service.get<{ transcript: object[] }>(`/api/task-executions/${run?.id}`);
  const error = expect.stringMatching(/^Refused by policy/);
  expect(body.transcript).toContainEqual(expect.objectContaining({ kind: "tool", name: "delta.get_issue", error }));
});
