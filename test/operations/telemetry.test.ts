import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}
interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: Pick<Span, "attributes">;
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

const spans: (Span & { readonly instance: unknown })[] = [];
const apiKey = "a-key-of-an-operator";
let collector: Server;
/** The status of its answers. */
let answers = 200;
let world: World;
beforeAll(async () => {
  collector = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString()) as Exported;
    for (const { resource, scopeSpans } of resourceSpans) {
      const instance = resource.attributes.find(({ key }) => key === "service.instance.id")?.value.stringValue;
      spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, instance }))));
    }
    response.writeHead(answers).end("{}");
  });
  await new Promise<void>((done) => collector.listen(0, "127.0.0.1", done));
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  world = await startWorld({
    apiKey,
    tasks: ["traced"],
    env: {
      API_KEYS: apiKey,
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_BSP_SCHEDULE_DELAY: "200",
      METRICS_OPEN: "true",
    },
  });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  collector?.close();
});

const send = (number: number, headers: Record<string, string> = {}) =>
  world.service.webhook(issueOpened({ repo: "octo/app", number, title: "Trace me" }), { headers });
const ofTrace = (id: string) => spans.filter(({ traceId }) => traceId === id);
const attributeOf = (span: Span | undefined, name: string) => span?.attributes.find(({ key }) => key === name)?.value;
/** The attempts of a trace, in order. */
const runsOf = (trace: typeof spans) =>
  trace
    .filter(({ name }) => name === "invoke_agent")
    .sort(
      (a, b) => Number(attributeOf(a, "signalbox.attempt")?.intValue) - Number(attributeOf(b, "signalbox.attempt")?.intValue),
    );

test("a run that was killed and resumed is one trace, with the event's id and without prompts", async () => {
  const asked = world.model.chats().length;
  world.model.answerWith({ reply: { hang: true } });
  const sentMs = Date.now();
  const { body } = await send(1);
  await eventually(() => world.model.chats().length > asked);
  await eventually(() => ["webhook", "dispatch", "memory.search"].every((part) => spans.some(({ name }) => name === part)));
  await world.service.kill();
  await world.service.restart();
  await waitForExecutions(world.service, { event_id: body.event_id });
  const trace = body.event_id.replaceAll("-", "");
  const all = await eventually(() => {
    const found = ofTrace(trace);
    const names = ["webhook", "dispatch", "memory.search", "post"];
    return names.every((name) => found.some((one) => one.name === name)) && runsOf(found).length === 2 && found;
  });
  const [root] = all.filter(({ name }) => name === "webhook");
  expect(all.find(({ name }) => name === "dispatch")?.parentSpanId).toBe(root?.spanId);
  // The webhook and the run have the same ancestor, which both replicas derive from the event.
  const [lost, run] = runsOf(all);
  expect(run?.parentSpanId).toBe(root?.parentSpanId);
  expect(root?.instance).toEqual(expect.any(String));
  expect(run?.instance).not.toBe(root?.instance);
  // The killed process exported a part of its attempt, and its successor the attempt itself.
  expect(lost).toMatchObject({ parentSpanId: run?.parentSpanId, instance: run?.instance, status: { code: 2 } });
  expect([attributeOf(lost, "signalbox.lost"), attributeOf(run, "signalbox.lost")]).toEqual([{ boolValue: true }, undefined]);
  const parts = all.filter(({ parentSpanId }) => parentSpanId === lost?.spanId);
  expect(parts).toMatchObject([{ name: "memory.search", instance: root?.instance }]);
  const [startMs, endMs] = [Number(lost?.startTimeUnixNano) / 1e6, Number(lost?.endTimeUnixNano) / 1e6];
  expect(startMs).toBeGreaterThan(sentMs - 1_000);
  // The times are from two clocks: the database's and the process's.
  const clocksApartMs = 100;
  expect(startMs).toBeLessThanOrEqual(Number(parts[0]?.startTimeUnixNano) / 1e6 + clocksApartMs);
  expect(endMs).toBeGreaterThan(startMs);
  expect(endMs).toBeLessThanOrEqual(Number(run?.startTimeUnixNano) / 1e6 + clocksApartMs);
  const chat = all.find(({ name }) => name.startsWith("chat "));
  expect(chat?.parentSpanId).toBe(run?.spanId);
  expect(chat?.attributes.map(({ key }) => key)).toEqual(
    expect.arrayContaining(["gen_ai.operation.name", "gen_ai.request.model", "gen_ai.usage.input_tokens"]),
  );
  expect(JSON.stringify(all)).not.toContain("Trace me");
});

test("a webhook's traceparent is the parent, and the model gets the trace", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const { body } = await send(2, { traceparent: `00-${traceId}-00f067aa0ba902b7-01` });
  await waitForExecutions(world.service, { event_id: body.event_id });
  await eventually(() => ofTrace(traceId).some(({ name }) => name === "post"));
  expect(ofTrace(traceId).find(({ name }) => name === "webhook")?.parentSpanId).toBe("00f067aa0ba902b7");
  const asked = world.model.requests.find((one) => /chat/.test(one.path) && JSON.stringify(one.body).includes("octo/app#2."));
  expect(asked?.headers.traceparent).toContain(traceId);
});

test("the log says when the collector begins to refuse traces, and when it accepts them again", async () => {
  const countOf = (message: string) => world.service.logs().split(message).length - 1;
  answers = 401;
  for (const number of [20, 21]) {
    const before = spans.length;
    await send(number);
    // The second failure is not logged again.
    await eventually(() => spans.length > before && countOf("failed to export traces") === 1);
  }
  answers = 200;
  await send(22);
  await eventually(() => countOf("traces are exported again") === 1);
  expect(world.service.logs()).toMatch(
    /"level":"warn","message":"failed to export traces[^"]*","url":"http[^"]*\/v1\/traces","error":/,
  );
  // The metrics of the next test count no execution that has not begun.
  await waitForExecutions(world.service);
});

test("metrics: with a key, or from this machine with METRICS_OPEN", async () => {
  const read = (headers: Record<string, string>) => fetch(`${world.service.url}/metrics`, { headers });
  const open = await read({});
  expect([open.status, open.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/plain")]);
  const text = await open.text();
  for (const line of [
    /signalbox_webhooks_total\{source="alpha",status="202"\} \d/,
    /signalbox_execution_attempts_total\{outcome="succeeded"\} \d/,
    /gen_ai_client_operation_duration_seconds_count\{.*error_type=""\} \d/,
    /signalbox_executions\{state="queued"\} 0/,
    /signalbox_table_bytes\{table="webhook_events"\} \d/,
    /signalbox_outgoing_requests_total\{host="127.0.0.1:\d+",status="2xx"\} \d/,
    /signalbox_rate_limit_remaining\{host="127.0.0.1:\d+"\} 49\d\d/,
    /signalbox_database_connections\{state="(?:busy|idle)"\} [1-9]/,
    /signalbox_database_waiting \d/,
  ])
    expect(text).toMatch(line);
  // `promtool check metrics` requires that only counters are named `_total`.
  expect(text.split("\n").filter((line) => /^# TYPE \S+_total (?!counter)/.test(line))).toEqual([]);
  // A proxy on this machine forwards requests of other machines.
  expect((await read({ "x-forwarded-for": "203.0.113.5" })).status).toBe(401);
  expect((await read({ "x-forwarded-for": "203.0.113.5", authorization: `Bearer ${apiKey}` })).status).toBe(200);
});

test("metrics name the source of refused webhooks", async () => {
  const post = (path: string, body: string) =>
    fetch(`${world.service.url}/webhook/${path}`, { method: "POST", headers: { "x-hub-signature-256": "sha256=00" }, body });
  expect((await post("alpha", "{}")).status).toBe(401);
  expect((await post("alpha", "x".repeat(26 * 1024 * 1024))).status).toBe(413);
  expect((await post("nothing-here", "{}")).status).toBe(404);
  const text = await (await fetch(`${world.service.url}/metrics`)).text();
  expect(text.split("\n").filter((line) => /^signalbox_webhooks_total.*status="4/.test(line))).toEqual(
    expect.arrayContaining([
      'signalbox_webhooks_total{source="alpha",status="401"} 1',
      'signalbox_webhooks_total{source="alpha",status="413"} 1',
      'signalbox_webhooks_total{source="unknown",status="404"} 1',
    ]),
  );
});

test("without a known price the cost is null, not 0", async () => {
  const usage = async (query: string) =>
    (
      await world.service.get<{ cost_usd: number | null; unpriced_tokens: number; groups: { cost_usd: number | null }[] }>(
        `/api/usage?${query}`,
      )
    ).body;
  const { cost_usd, unpriced_tokens, groups } = await usage("group_by=model");
  expect({ cost_usd, groups }).toMatchObject({ cost_usd: null, groups: [{ cost_usd: null }] });
  expect(unpriced_tokens).toBeGreaterThan(0);
  // Nothing was spent before the first run.
  expect(await usage("to=2020-01-01T00:00:00Z")).toMatchObject({ cost_usd: 0, unpriced_tokens: 0 });
});
