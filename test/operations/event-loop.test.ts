import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import * as alpha from "../harness/alpha-payloads.ts";
import * as beta from "../harness/beta-payloads.ts";
import * as delta from "../harness/delta-payloads.ts";
import { here, jsonAround } from "../harness/fillings.ts";
import * as gamma from "../harness/gamma-payloads.ts";
import { type Door, door, few, type MeasuredService, mebibyte, startMeasuredService } from "../harness/stall-doors.ts";
import { signature } from "../harness/webhooks.ts";
import { surroundings } from "../harness/world.ts";

/**
 * For any content up to 1 MiB at these endpoints, the event loop uses less than 50 ms of processor time per tick; for a signed
 * webhook of 25 MiB, less than 250 ms. Measured in the service itself, by its thread, beyond what it uses when idle. `FUZZ_SEED`
 * repeats a run, `FUZZ_RUNS` makes a longer one.
 */
const [bound, largeBound] = [50, 250];
const secret = "the secret of the webhook";

let tracker: Tracker;
let model: Model;
let service: MeasuredService;
beforeAll(async () => {
  tracker = await startTracker({ token: "tracker-token", autoCreate: true });
  model = await startModel({ script: () => ({ content: "Done." }) });
  const env = { ...surroundings(tracker, model), MAX_UNCHECKED_WEBHOOK_BYTES: "2000000" };
  service = await startMeasuredService({ seed: true, webhookSecret: secret, env });
  const mapping = { source: "mapped", path_pattern: "/webhook/mapped", canonical_trigger: "mapped.seen" };
  const rules = { event_type: "$..type", issue_id: "$[?search(@.text, '(a|aa)+b')]" };
  await service.post("/api/webhook-mappings", { ...mapping, extraction_rules: rules, jq_filter: "[.. | strings] | length > 1" });
  await service.warmUp(doors);
}, 180_000);
afterAll(async () => {
  await service?.close();
  await Promise.all([tracker?.close(), model?.close()]);
}, 120_000);

async function post(path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<number> {
  const asked = { method: "POST", body, headers: { "content-type": "application/json", ...headers } };
  const response = await fetch(service.url + path, asked);
  await response.arrayBuffer();
  return response.status;
}
const signed = (json: string, event = "issues") => {
  const body = Buffer.from(json);
  return post("/webhook/alpha", body, { "x-alpha-event": event, "x-hub-signature-256": signature(body, secret) });
};
let number = 1;
const grpcWeb = { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" };
/** 200 messages of 4 MiB in gzip, each with its frame. */
const manyMessages = (() => {
  const message = gzipSync(Buffer.alloc(4 * mebibyte));
  const head = Buffer.from([1, 0, 0, 0, 0]);
  head.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat(Array(200).fill([head, message]).flat());
})();
const register = "/signalbox.gateway.v1.AgentGateway/RegisterAgent";
const call = (method: string, json: string) => post(`/signalbox.gateway.v1.AgentGateway/${method}`, json);
const mcp = (params: object, filling: string) =>
  post("/mcp", jsonAround({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, filling), {
    accept: "application/json, text/event-stream",
  });

const signedDoors: readonly Door[] = [
  door("alpha: the text of an issue", "text", ({ text }) =>
    signed(JSON.stringify(alpha.issueOpened({ number: number++, body: text }))),
  ),
  door("alpha: a comment", "text", ({ text }) =>
    signed(JSON.stringify(alpha.issueCommented({ number: number++, comment: text })), "issue_comment"),
  ),
  door("alpha: labels", "list", ({ list }) =>
    signed(jsonAround(alpha.issueOpened({ number: number++ }, { issue: { labels: here } }), list)),
  ),
  door("alpha: other members", "members", ({ members }) =>
    signed(jsonAround({ ...alpha.issueOpened({ number: number++ }), members: here }, members)),
  ),
];
const doors: readonly Door[] = [
  ...signedDoors,
  door("alpha: a form", "text", ({ text }) => {
    const body = new URLSearchParams({
      payload: JSON.stringify(alpha.issueOpened({ number: number++, body: text.slice(0, 300_000) })),
    }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded", "x-alpha-event": "issues" };
    return post("/webhook/alpha", body, { ...headers, "x-hub-signature-256": signature(body, secret) });
  }),
  door("alpha: a form of many fields", "members", ({ members }) => {
    const body = members.slice(2, -1).replaceAll('":1,"', "=1&").replace('":1', "=1");
    const headers = { "content-type": "application/x-www-form-urlencoded", "x-alpha-event": "issues" };
    return post("/webhook/alpha", body, { ...headers, "x-hub-signature-256": signature(body, secret) });
  }),
  door("beta: labels", "list", ({ list }) =>
    post("/webhook/beta", jsonAround({ ...beta.issueOpened("a/b", number++), labels: here }, list), {
      "x-gitlab-event": "Issue Hook",
    }),
  ),
  door("gamma: a rich description", "list", ({ list }) => {
    const payload = gamma.issueCreated(`APP-${number++}`);
    Object.assign(payload.issue.fields, { description: { type: "doc", version: 1, content: here } });
    return post("/webhook/gamma", jsonAround(payload, list));
  }),
  door("gamma: a plain description", "text", ({ text }) => {
    const payload = gamma.issueCreated(`APP-${number++}`);
    Object.assign(payload.issue.fields, { description: text });
    return post("/webhook/gamma", JSON.stringify(payload));
  }),
  door("delta: HTML", "text", ({ text }) => {
    const payload = delta.issueCreated("p", `i${number++}`);
    payload.data.description_html = text;
    return post("/webhook/delta", JSON.stringify(payload), { "x-plane-event": "issue" });
  }),
  door("API: a memory", "text", ({ text }) => post("/api/memory", JSON.stringify({ content: text, scope: "organizational" }))),
  door("API: a search", "text", ({ text }) => post("/api/memory/search", JSON.stringify({ query: text }))),
  door("API: a task", "text", ({ text }) =>
    post("/api/tasks", JSON.stringify({ id: `t${number++}`, name: "t", description: text, actor_id: "pm_default" })),
  ),
  door("API: members of no operation", "members", ({ members }) => post("/api/agents", members)),
  door("API: a list for a text", "list", ({ list }) => post("/api/keys", jsonAround({ name: here, scopes: here }, list))),
  door("gateway: registration", "list", ({ list }) =>
    call("RegisterAgent", jsonAround({ agent_id: "pm_default", capabilities: here }, list)),
  ),
  door("API: conditions of a mapping", "members", ({ members }) =>
    post("/api/tasks/triggers", jsonAround({ canonical_trigger: "t", task_id: "t", conditions: here }, members)),
  ),
  door("API: a payload to explain", "members", ({ members }) =>
    post("/api/tasks/resolve", jsonAround({ source: "alpha", headers: { "x-alpha-event": "issues" }, payload: here }, members)),
  ),
  door("API: a list to explain", "list", ({ list }) =>
    post(
      "/api/tasks/resolve",
      jsonAround({ source: "alpha", headers: { "x-alpha-event": "issues" }, payload: { list: here } }, list),
    ),
  ),
  door("gateway: unknown members", "members", ({ members }) => call("RegisterAgent", members)),
  door(
    "gateway: compressed JSON",
    "list",
    ({ list }) => post(register, gzipSync(jsonAround({ capabilities: here }, list)), { "content-encoding": "gzip" }),
    few,
  ),
  door(
    "gateway: protobuf, texts of no bytes",
    "text",
    () => post(register, Buffer.alloc(mebibyte - 100, Buffer.from([26, 0])), { "content-type": "application/proto" }),
    1,
  ),
  door(
    "gateway: protobuf, unknown fields",
    "text",
    () => post(register, Buffer.alloc(mebibyte - 100, Buffer.from([0xf8, 6, 1])), { "content-type": "application/proto" }),
    1,
  ),
  door("gateway: empty messages in one call", "text", () => post(register, Buffer.alloc(mebibyte - 100), grpcWeb), 1),
  door("gateway: large messages in gzip in one call", "text", () => post(register, manyMessages, grpcWeb), 1),
  door("gateway: a secret", "text", ({ text }) =>
    call("RegisterAgent", JSON.stringify({ agent_id: "pm_default", secret: text })),
  ),
  door(
    "a mapping's filter and rules",
    "list",
    ({ list }) => post("/webhook/mapped", jsonAround({ type: "t", list: here }, list)),
    few,
  ),
  door(
    "a mapping's filter and rules, a text",
    "text",
    ({ text }) => post("/webhook/mapped", JSON.stringify({ type: "t", text })),
    few,
  ),
  door("MCP: a text", "text", ({ text }) => mcp({ name: here, arguments: {} }, JSON.stringify(text))),
  door("MCP: arguments", "members", ({ members }) => mcp({ name: "agents_list", arguments: here }, members)),
  door("MCP: a batch", "list", ({ list }) => post("/mcp", list, { accept: "application/json, text/event-stream" })),
];

test.each(doors.map((one) => [one.name, one] as const))("1 MiB, %s", { timeout: 120_000, tags: ["node"] }, (_, one) =>
  // Each character of a text may be written as an escape of six.
  service.expectNoStall(bound, one, mebibyte - 40_000),
);

test.each(signedDoors.map((one) => [one.name, one] as const))(
  "a signed webhook of 25 MiB, %s",
  { timeout: 120_000, tags: ["node"] },
  (_, one) => service.expectNoStall(largeBound, one, 24 * mebibyte, 2),
);

test.each(["[", '{"a":', "[]", '"', "\\", " ", "1", "\u0000", "é"])(
  "1 MiB and 25 MiB of %j",
  { timeout: 120_000, tags: ["node"] },
  async (piece) => {
    const pieces = { text: piece, list: "[]", members: "{}" };
    for (const [size, most] of [
      [mebibyte - 100, bound],
      [25 * mebibyte - 100, largeBound],
    ] as const) {
      const body = Buffer.alloc(size, piece).toString("latin1");
      const bytes = Buffer.from(body);
      const headers = { "x-alpha-event": "issues", "x-hub-signature-256": signature(bytes, secret) };
      const run = () => post("/webhook/alpha", bytes, headers);
      await service.expectStallBelow(most, door("alpha", "text", run), pieces);
      if (size < mebibyte)
        await service.expectStallBelow(
          most,
          door("API", "text", () => post("/api/agents", body)),
          pieces,
        );
      if (size < mebibyte)
        await service.expectStallBelow(
          most,
          door("MCP", "text", () => post("/mcp", body)),
          pieces,
        );
      if (size < mebibyte)
        await service.expectStallBelow(
          most,
          door("gateway", "text", () => post("/signalbox.gateway.v1.AgentGateway/RegisterAgent", body)),
          pieces,
        );
    }
  },
);
