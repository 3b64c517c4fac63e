import assert from "node:assert/strict";
import type { Capabilities } from "../contract.ts";
import type { Plugin } from "../plugin.ts";
import { callRoute, type Route, type RouteResponse, routeResponseError } from "../route.ts";
import type { Json } from "../source-event.ts";
import { assertNoSecret, expectPluginError } from "./expect.ts";
import { fakeCapabilities, setUpPlugin } from "./fake-host.ts";
import { FakeOperations } from "./fake-operations.ts";
import type { TestCase } from "./fixtures.ts";

/** A sample request to a route. */
export interface SampleRequest {
  readonly query?: Readonly<Record<string, string>>;
  /** Headers with names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
  /** Body of a route with `raw`, as text. A function is called for each request, for example to sign it with the time. */
  readonly raw?: string | (() => { readonly body: string; readonly headers: Readonly<Record<string, string>> });
}
/** Sample requests of a route. */
export interface RouteSample {
  /** Requests that succeed with a status of 200 to 299. */
  readonly requests: readonly SampleRequest[];
  /** Requests that are rejected with a status of 400 to 499 or with an equivalent `PluginError`. */
  readonly refused?: readonly SampleRequest[];
}
/** Input of `testRoutes`. */
export interface RouteFixtures {
  readonly config?: Record<string, unknown>;
  /** Capabilities beside those of `fakeCapabilities`, for example `secret`. */
  readonly capabilities?: Partial<Capabilities>;
  /** Values that must not appear in a response. */
  readonly secrets?: readonly string[];
  /** One sample for each route of the plugin. */
  readonly routes: Readonly<Record<string, RouteSample>>;
}

const refusalCodes = ["invalid_input", "not_found", "conflict", "rate_limited"];
const deep = (levels: number): Json => (levels === 0 ? 1 : { a: [deep(levels - 1)] });
const strangeBodies: readonly Json[] = [
  null,
  true,
  0,
  -1.5,
  "",
  "text \u0000 \ud800",
  [],
  [[]],
  {},
  { constructor: { prototype: {} }, toString: null },
  JSON.parse('{"__proto__": {"admin": true}}') as Json,
  ["x".repeat(100_000), deep(50)],
];
const strangeQueries: readonly Readonly<Record<string, string>>[] = [
  {},
  { "": "" },
  { constructor: "1", toString: "2" },
  { q: "\u0000\ud800".repeat(100) },
  JSON.parse('{"__proto__": "1"}') as Record<string, string>,
];

/** The conformance suite for HTTP routes. `for (const c of testRoutes(plugin, fixtures)) test(c.name, c.run);` */
export function testRoutes(plugin: Plugin, fixtures: RouteFixtures): TestCase[] {
  const open = async () => {
    const capabilities = fakeCapabilities({ operations: new FakeOperations(), ...fixtures.capabilities });
    return (await setUpPlugin(plugin, { config: fixtures.config, capabilities })).routes ?? {};
  };
  const every: TestCase = {
    name: "routes: every route has a sample",
    run: async () => {
      const routes = await open();
      assert.deepEqual(Object.keys(fixtures.routes).sort(), Object.keys(routes).sort(), "fixtures must name every route");
    },
  };
  const each = Object.entries(fixtures.routes).flatMap(([name, sample]) =>
    cases(sample, fixtures.secrets ?? []).map(([what, run]) => ({
      name: `route ${name}: ${what}`,
      run: async () => {
        const route = (await open())[name];
        assert.ok(route, `setup must contribute routes.${name}`);
        await run(route);
      },
    })),
  );
  return [every, ...each];
}

type Case = readonly [string, (route: Route) => Promise<void>];

const cases = (sample: RouteSample, secrets: readonly string[]): Case[] => [
  [
    "has a complete declaration",
    async ({ about, method, scope }) => {
      assert.ok(typeof about === "string" && about.trim() !== "", "about must be a sentence");
      assert.ok(["GET", "POST"].includes(method), `method must be GET or POST; it is ${method}`);
      assert.ok(["read", "write", "admin", "open"].includes(scope), `scope must be read, write, admin or open; it is ${scope}`);
    },
  ],
  [
    "responds to the sample requests",
    async (route) => {
      assert.ok(sample.requests.length > 0, "requests must contain at least one request");
      for (const request of sample.requests) {
        const answer = await ask(route, request);
        assertValid(answer, secrets);
        assert.ok(
          answer.status < 300,
          `${JSON.stringify(request)} must succeed with 200 to 299; the answer is ${JSON.stringify(answer)}`,
        );
      }
    },
  ],
  [
    "rejects invalid requests",
    async (route) => {
      for (const request of sample.refused ?? []) await refuses(route, request, secrets);
    },
  ],
  [
    "responds to or rejects malformed requests without failing",
    async (route) => {
      for (const body of route.method === "POST" ? strangeBodies : [null]) {
        for (const query of strangeQueries) await survives(route, { body, query }, secrets);
      }
    },
  ],
  [
    "responds to concurrent requests",
    async (route) => {
      const [request = {}] = sample.requests;
      for (const answer of await Promise.all(Array.from({ length: 30 }, () => ask(route, request)))) assertValid(answer, secrets);
    },
  ],
  [
    "stops when its signal is aborted",
    async (route) => {
      const [request = {}] = sample.requests;
      const stop = new AbortController();
      const work = ask(route, request, stop.signal).catch(() => null);
      stop.abort();
      const hasEnded = await Promise.race([work.then(() => true), new Promise((done) => setTimeout(done, 2_000, false).unref())]);
      assert.ok(hasEnded, "a call whose signal is aborted must end within two seconds");
    },
  ],
];

const ask = (
  route: Route,
  { query = {}, headers = {}, body = null, raw }: SampleRequest,
  signal: AbortSignal = AbortSignal.timeout(10_000),
): Promise<RouteResponse> => {
  const rawRequest = typeof raw === "function" ? raw() : { body: raw ?? JSON.stringify(body), headers: {} };
  const bytes = route.raw ? { bytes: new TextEncoder().encode(rawRequest.body) } : {};
  return callRoute(route, { query, headers: { ...headers, ...rawRequest.headers }, body, ...bytes }, { signal, caller: "test" });
};

function assertValid(answer: unknown, secrets: readonly string[]): asserts answer is RouteResponse {
  const fault = routeResponseError(answer);
  assert.equal(fault, null, `the response is invalid: ${fault}`);
  const { body } = answer as RouteResponse;
  assert.deepEqual(JSON.parse(JSON.stringify(body)), body, "body must be JSON without values that JSON omits or changes");
  assertNoSecret("an answer", JSON.stringify(answer), secrets);
}

async function refuses(route: Route, request: SampleRequest, secrets: readonly string[]): Promise<void> {
  const what = JSON.stringify(request).slice(0, 200);
  const outcome = await survives(route, request, secrets);
  if (typeof outcome === "string")
    assert.ok(
      refusalCodes.includes(outcome),
      `${what} must be rejected with ${refusalCodes.join(", ")}; it ended with ${outcome}`,
    );
  else
    assert.ok(
      outcome.status >= 400 && outcome.status < 500,
      `${what} must be rejected with 400 to 499; the status is ${outcome.status}`,
    );
}

/** The response, or the code of the thrown error. */
async function survives(route: Route, request: SampleRequest, secrets: readonly string[]): Promise<RouteResponse | string> {
  const what = JSON.stringify(request).slice(0, 200);
  let answer: RouteResponse;
  try {
    answer = await ask(route, request);
  } catch (thrown) {
    const { code, message } = await expectPluginError(what, () => Promise.reject(thrown), secrets);
    assert.notEqual(code, "failed", `${what} must succeed or fail with a specific error code; it failed with: ${message}`);
    return code;
  }
  assertValid(answer, secrets);
  return answer;
}
