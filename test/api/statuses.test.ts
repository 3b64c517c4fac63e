import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { expectRefused } from "../harness/refused.ts";
import { agents } from "./statuses/agents.ts";
import { arrangementOf, type Cases } from "./statuses/cases.ts";
import { connections } from "./statuses/connections.ts";
import { faultsOf, type Operation, operations } from "./statuses/document.ts";
import { events } from "./statuses/events.ts";
import { knowledge } from "./statuses/knowledge.ts";
import { operate } from "./statuses/operate.ts";
import { plugins } from "./statuses/plugins.ts";
import { projects } from "./statuses/projects.ts";
import { tasks } from "./statuses/tasks.ts";
import { work } from "./statuses/work.ts";
import { type Answer, type Sent, startWorld, type World } from "./statuses/world.ts";

/** Every operation of `openapi.json` with every status that it declares, each caused by real requests. */
const cases: Cases = {
  ...agents,
  ...projects,
  ...tasks,
  ...events,
  ...connections,
  ...knowledge,
  ...work,
  ...operate,
  ...plugins,
};
const table = operations.flatMap((op) =>
  op.statuses.map((status) => ({ op, status, arrange: arrangementOf(op, status, cases[op.id]) })),
);

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 180_000);
afterAll(() => world?.close(), 120_000);
afterEach(() => {
  world.tracker.clearFaults();
  world.model.clearFaults();
});

describe("the table", () => {
  test("has a case for every status that an operation declares", () => {
    expect(table.length).toBeGreaterThan(450);
    expect(table.filter(({ arrange }) => !arrange).map(({ op, status }) => `${op.id} ${status}`)).toEqual([]);
  });
  test("has no case for an undeclared status", () => {
    const declared = new Set(table.flatMap(({ op, status }) => [`${op.id} valid`, `${op.id} ${status}`]));
    const written = Object.entries(cases).flatMap(([id, own]) => Object.keys(own).map((status) => `${id} ${status}`));
    expect(written.filter((one) => !declared.has(one))).toEqual([]);
  });
});

/** Statuses that occur only while Redis is unavailable. */
const needsRedis = (op: Operation, status: number) => status === 503 && /^(memory|queues|health)\./.test(op.id);

for (const [id, rows] of Map.groupBy(table, ({ op }) => op.id)) {
  describe(id, () => {
    for (const { op, status, arrange } of rows)
      test(String(status), { timeout: 120_000, tags: needsRedis(op, status) ? ["redis-server"] : [] }, async () => {
        const sent = (await arrange?.(world)) ?? {};
        const answer = await world.call(op.id, sent);
        expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
        expect(faultsOf(op.id, status, answer.body)).toEqual([]);
        if (status >= 400 && !(op.id === "health.get" && status === 503)) expectRefused(answer, status, /\w \w/);
        if (status >= 400) await expectSameOverGrpc(op, answer, sent);
      });
  });
}

const codes: Record<number, string> = {
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  // Requests without a body create nothing, so what they conflict with is a state.
  409: "failed_precondition",
  502: "unavailable",
  503: "failed_precondition",
};

/**
 * The same problem from the RPC of the operation, if its message contains only path parameters: proto writes others differently.
 */
async function expectSameOverGrpc({ grpc }: Operation, { status, headers: answered }: Answer, sent: Sent) {
  const { params, query, body, headers = { authorization: `Bearer ${world.adminKey}` }, at = "main" } = sent;
  // A caller may repeat the call if the answer says when.
  const code = status === 503 && answered.has("retry-after") ? "unavailable" : codes[status];
  if (!grpc || !code || headers.origin || ((body ?? query) !== undefined && status > 403)) return;
  const response = await fetch(`${world[at].url}/${grpc}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ ...params }),
  });
  expect(await response.json()).toMatchObject({ code, message: expect.stringMatching(/\w \w/) });
}
