import { PluginError } from "@signalbox/sdk";
import { fakeCapabilities, setUpPlugin, testQueues, testRoutes } from "@signalbox/sdk/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import plugin from "./src/plugin.ts";
import { refusalOf } from "./src/verify.ts";
import { approver, button, channel, command, conformance, event, signedRequest, signingSecret } from "./test/conformance.ts";
import { SlackServer, token } from "./test/server.ts";

const secret = async (name: string) => (name === "token" ? token : signingSecret);
const given = conformance.queues?.slack;
const { routes } = conformance;
if (!given || !routes) throw new Error("the conformance of slack must hold a queue and routes");

describe("forwards messages to slack", () => {
  const start = async () => {
    const started = await given.start?.();
    return { ...started, capabilities: { secret }, close: async () => started?.close() };
  };
  for (const one of testQueues(plugin, { ...given, start })) test(one.name, one.run);
});
describe("slack's route", () => {
  const fixtures = {
    routes,
    config: { channel, approvers: approver },
    capabilities: { secret },
    secrets: [token, signingSecret],
  };
  for (const one of testRoutes(plugin, fixtures)) test(one.name, one.run);
});

const id = "01a207ad-b073-7000-96ca-9a70840084ea";
const proposal = "01a207ad-b073-7001-8000-000000000001";

async function open(approvers = approver, settings: object = {}) {
  const server = await new SlackServer().listen();
  onTestFinished(() => server.close());
  const calls: unknown[] = [];
  const answers: { fails?: PluginError; proposals: unknown[] } = { proposals: [] };
  const operations = {
    call: async (operation: string, input: object, options?: object) => {
      calls.push([operation, input, options]);
      if (answers.fails) throw answers.fails;
      return { proposals: answers.proposals } as never;
    },
  };
  const capabilities = fakeCapabilities({ secret, operations });
  const { queues, routes } = await setUpPlugin(plugin, {
    config: { url: server.url, channel, approvers, ...settings },
    capabilities,
  });
  const [queue, route] = [queues?.slack, routes?.actions];
  if (!queue || !route) throw new Error("slack has no queue or no route");
  const send = async (body: string) => {
    const { headers } = signedRequest(body);
    const bytes = new TextEncoder().encode(body);
    const call = { signal: AbortSignal.timeout(60_000), caller: "anonymous" };
    return route.run({ query: {}, headers, body: null, bytes, input: {} }, call);
  };
  return { server, queue, send, calls, answers };
}

test("a request of Slack is valid for five minutes, if its signature matches its bytes and time", () => {
  // The example of Slack's documentation has this form; its secret and digest are computed here.
  const now = Date.now();
  const { body, headers } = signedRequest("token=x&team_id=T1", now);
  const bytes = new TextEncoder().encode(body);
  expect(refusalOf(headers, bytes, signingSecret, now)).toBeNull();
  expect(refusalOf(headers, bytes, signingSecret, now + 299_000)).toBeNull();
  expect(refusalOf(headers, bytes, signingSecret, now + 302_000)).toContain("from now");
  expect(refusalOf(headers, bytes, "another", now)).toContain("does not match");
  expect(refusalOf({ ...headers, "x-slack-request-timestamp": "1" }, bytes, signingSecret, now)).toContain("does not match");
  expect(refusalOf({}, bytes, signingSecret, now)).toContain("missing header");
});

test("a waiting execution is posted with what it would write, as text, and with buttons for exactly that", async () => {
  const { server, queue, answers } = await open();
  answers.proposals = [
    {
      id: proposal,
      tool: "alpha.add_comment",
      target: "alpha:octo/app#7",
      parameters: { body: "<!channel> hi" },
      state: "proposed",
      decided_at: null,
    },
    { id: "another", tool: "alpha.close", state: "applied" },
  ];
  await queue.publish([event("waiting", 7)]);
  const [message] = server.messages;
  expect(message).toMatchObject({ channel, metadata: { event_payload: { ids: `${id}.7.waiting` } } });
  const [line, text, buttons] = (message?.blocks ?? []) as unknown as [
    object,
    { text: object },
    { elements: { action_id: string; value: string }[] },
  ];
  expect(line).toMatchObject({ text: { type: "mrkdwn", text: expect.stringContaining("waits for approval") } });
  expect(text).toMatchObject({ text: { type: "plain_text", text: expect.stringContaining("<!channel> hi") } });
  expect(buttons.elements.map(({ action_id }) => action_id)).toEqual(["signalbox_approve", "signalbox_reject"]);
  expect(JSON.parse(buttons.elements[0]?.value ?? "")).toEqual({ execution: id, proposals: [proposal] });
});

describe("a waiting execution with many or long writes", () => {
  const comment = (number: number, body: string) => ({ id: uuidOf(number), tool: null, target: null, body, state: "proposed" });
  const uuidOf = (number: number) => `01a207ad-b073-7001-8000-${String(number).padStart(12, "0")}`;
  const postWith = async (proposals: unknown[]) => {
    const { server, queue, answers } = await open();
    answers.proposals = proposals;
    await queue.publish([event("waiting", 7)]);
    const [message] = server.messages;
    const blocks = (message?.blocks ?? []) as unknown as { text?: { text: string }; elements?: Record<string, string>[] }[];
    const buttons = blocks.flatMap(({ elements = [] }) => elements);
    const texts = blocks.map(({ text }) => text?.text ?? "");
    return {
      text: texts.join(""),
      buttons,
      approved: JSON.parse(buttons[0]?.value ?? "null")?.proposals as string[] | undefined,
    };
  };

  test("shows all of each write that its button approves, up to its last word", async () => {
    const long = [1, 2, 3].map((number) =>
      comment(number, `First word. ${"x".repeat(number === 2 ? 6_000 : 400)} last ${number}`),
    );
    const { text, approved } = await postWith(long);
    for (const number of [1, 2, 3]) expect(text).toContain(`last ${number}`);
    expect(approved).toEqual([1, 2, 3].map(uuidOf));
  });

  test("does not approve what it has no room for, and says so", async () => {
    const many = Array.from({ length: 30 }, (_, at) => comment(at, `Comment ${at}: ${"y".repeat(700)} end ${at}.`));
    const { text, approved = [] } = await postWith(many);
    expect(approved.length).toBeGreaterThan(5);
    expect(approved).toEqual(many.slice(0, approved.length).map(({ id }) => id));
    expect(many.map((_, at) => at).filter((at) => text.includes(`end ${at}.`))).toEqual(approved.map((_, at) => at));
    expect(text).toContain(
      `${30 - approved.length} more writes are not shown here. _Approve_ does not cover the rest: decide in the console.`,
    );
  });

  test.each([
    [
      "too long",
      [comment(1, "z".repeat(9_500)), comment(2, "Short")],
      /^2 writes are not shown here\. They cannot be approved in Slack: decide in the console\.$/,
    ],
    ["unreadable", [{ ...comment(1, ""), body: null, parameters: null, unreadable: "It is damaged." }], /^1 write is not shown/],
  ])("has no button to approve a first write that is %s", async (_, proposals, notice) => {
    const { text, buttons } = await postWith(proposals);
    expect(text.slice(text.search(/\d writes? (is|are)/))).toMatch(notice);
    expect(buttons.map(({ action_id }) => action_id)).toEqual(["signalbox_stop"]);
  });
});

test("a message is posted without what Slack refuses or the operator denies, and does not hold up the next one", async () => {
  const { server, queue, answers } = await open();
  const wide = "&".repeat(200);
  const refused = Array.from({ length: 20 }, (_, at) => ({ ...event("succeeded", at + 1), subject: wide }));
  await queue.publish(refused);
  answers.fails = new PluginError("failed", "The plugin slack cannot call task-executions.get");
  await queue.publish([event("waiting", 30), event("failed", 31)]);
  expect(server.messages.map(({ text }) => text)).toEqual(["20 runs finished", "triage waits for approval", "triage failed"]);
});

test("a message that Slack refuses whole is named, and does not hold up the next one", async () => {
  const { server, queue } = await open();
  server.refused = /waits for approval/;
  const reason = expect.stringContaining("msg_too_long");
  expect(await queue.publish([event("waiting", 30), event("failed", 31)])).toEqual([{ id: event("waiting", 30).id, reason }]);
  expect(server.messages.map(({ text }) => text)).toEqual(["triage failed"]);
  server.refused = null;
  expect(await queue.publish([event("waiting", 30), event("failed", 31)])).toEqual([]);
  expect(server.messages.map(({ text }) => text)).toEqual(["triage failed", "triage waits for approval"]);
});

test("every finished execution has its line, however long the lines are together", async () => {
  const { server, queue } = await open();
  const long = Array.from({ length: 20 }, (_, at) =>
    event("succeeded", at + 1, { result_url: `https://tracker.example/${"p".repeat(300)}/${at + 1}` }),
  );
  await queue.publish(long);
  const text = JSON.stringify(server.messages);
  for (const at of long.keys()) expect(text).toContain(`/${at + 1}|answer>`);
});

test("nothing that an execution about something private would write, or why it failed, is posted", async () => {
  const { server, queue, answers, calls } = await open();
  answers.proposals = [{ id: proposal, tool: "beta.add_comment", parameters: { body: "Only among us" }, state: "proposed" }];
  const told = { private: true, error: "refused: Only among us", held_reason: "Only among us" };
  await queue.publish([event("waiting", 1, told), event("failed", 2, told), event("held", 3, told)]);
  expect(server.messages).toHaveLength(3);
  expect(JSON.stringify(server.messages)).not.toContain("Only among us");
  for (const { blocks } of server.messages) expect(JSON.stringify(blocks)).toContain("The run is private");
  expect(JSON.stringify(server.messages)).not.toContain("signalbox_approve");
  expect(calls).toEqual([]);
});

test.each([
  "https://signalbox.example.com/base",
  "https://signalbox.example.com/base/",
  "https://signalbox.example.com/base/console",
])("a message links to the run in the console at %s", async (console_url) => {
  const { server, queue } = await open(approver, { console_url });
  await queue.publish([event("failed", 7)]);
  expect(JSON.stringify(server.messages)).toContain(`<https://signalbox.example.com/base/console/run/${id}|run>`);
});

test("successful executions share one message; a message whose response was lost is not posted again", async () => {
  const { server, queue } = await open();
  const many = Array.from({ length: 45 }, (_, at) => event("succeeded", at + 1));
  server.fault({ kind: "drop", after: true, writes: true, times: 1 });
  await expect(queue.publish(many)).rejects.toMatchObject({ code: "unavailable", retryable: true });
  expect(server.messages).toHaveLength(1);
  const later = await open();
  later.server.messages.push(...server.messages);
  await later.queue.publish(many);
  expect(later.server.messages).toHaveLength(3);
});

test("an approver decides, and the outcome replaces the buttons", async () => {
  const { server, send, calls } = await open();
  server.messages.push({ ts: "1769850000.000100", text: "waits", blocks: [] });
  await send(button("approve", { execution: id, proposals: [proposal] }));
  expect(calls).toEqual([["task-executions.approve", { id, proposals: [proposal] }, { on_behalf_of: approver }]]);
  expect(server.messages[0]?.blocks.map(({ type }) => type)).toEqual(["section", "context"]);
  expect(server.messages[0]?.text).toBe(`Approved by <@${approver}>`);
  expect(await send(command(`stop ${id}`))).toMatchObject({ body: { text: `Stopped by <@${approver}>` } });
  expect(calls.at(-1)).toEqual(["task-executions.cancel", { id }, { on_behalf_of: approver }]);
});

test("by default no one may decide; otherwise only the listed approvers", async () => {
  for (const approvers of ["", "U0000000"]) {
    const { server, send, calls } = await open(approvers);
    await send(button("approve", { execution: id }));
    expect(await send(command(`stop ${id}`))).toMatchObject({ body: { text: expect.stringContaining("not allowed to decide") } });
    expect([calls, server.ephemeral.length]).toEqual([[], 1]);
  }
});

test("a decision that comes too late gets the reason", async () => {
  const { server, send, answers } = await open();
  answers.fails = new PluginError("conflict", "The execution does not wait.");
  await send(button("approve", { execution: id }));
  expect(server.ephemeral).toMatchObject([{ user: approver, text: "The execution does not wait." }]);
  expect(await send(command(`approve ${id}`))).toMatchObject({ body: { text: "The execution does not wait." } });
});
