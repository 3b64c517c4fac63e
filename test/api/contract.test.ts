import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectRefused } from "../harness/refused.ts";
import { type Service, startService } from "../harness/service.ts";

interface Described {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema: { readonly type?: string; readonly format?: string; readonly $ref?: string };
  }[];
  readonly requestBody?: unknown;
  readonly responses: Record<string, unknown>;
}
interface Endpoint {
  readonly path: string;
  readonly method: string;
  readonly described: Described;
}

let service: Service;
let endpoints: Endpoint[] = [];
let schemas: Record<string, { readonly description?: string }> = {};
beforeAll(async () => {
  service = await startService({ seed: true });
  const { body } = await service.get<{
    openapi: string;
    paths: Record<string, Record<string, Described>>;
    components: { schemas: typeof schemas };
  }>("/openapi.json");
  expect(body.openapi).toBe("3.1.0");
  endpoints = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method: method.toUpperCase(), described })),
  );
  expect(endpoints.length).toBeGreaterThan(25);
  schemas = body.components.schemas;
});
afterAll(() => service?.close());

/** A path of that operation with an object that does not exist. */
function sample({ path, described }: Endpoint, value?: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = described.parameters?.find((one) => one.name === name)?.schema;
    if (value !== undefined) return value;
    if (schema?.format === "uuid") return "00000000-0000-7000-8000-000000000000";
    return schema?.type === "integer" ? "2000000000" : "no_such_thing";
  });
}

const request = async (method: string, path: string, body?: string, contentType = "application/json") => {
  const response = await fetch(service.url + path, {
    method,
    ...(body === undefined ? {} : { body, headers: { "content-type": contentType } }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : null };
};
/** The response to these bytes, until the connection ends. */
const say = (bytes: string) =>
  new Promise<string>((done, fail) => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let text = "";
    socket
      .on("data", (piece) => (text += piece))
      .on("end", () => done(text))
      .on("error", fail);
  });
/** A memory may have any key, even a segment of another path. */
const alsoKeys = ["GET /api/memory/search", "DELETE /api/memory/search"];
const named = ({ method, path }: Endpoint) => `${method} ${path}`;

describe("every operation", () => {
  test("describes all of its parameters, also the header with which a reader of events continues", () => {
    const missing = endpoints.flatMap(({ method, path, described }) =>
      (described.parameters ?? []).flatMap(({ name, description, schema }) =>
        (description ?? schemas[schema.$ref?.split("/").at(-1) ?? ""]?.description) ? [] : [`${method} ${path} ${name}`],
      ),
    );
    expect(missing).toEqual([]);
    const continues = endpoints.filter(({ described }) =>
      described.parameters?.some((one) => one.in === "header" && one.name === "Last-Event-ID"),
    );
    expect(continues.map(({ path }) => path).sort()).toEqual(["/api/events", "/api/task-executions/{id}/events"]);
  });
  test("accepts only its own methods: 405 with Allow", async () => {
    for (const path of new Set(endpoints.map((one) => one.path))) {
      const here = endpoints.filter((one) => one.path === path);
      const allowed = here.map(({ method }) => method).sort();
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
        if (allowed.includes(method) || alsoKeys.includes(`${method} ${path}`)) continue;
        const answer = await request(method, sample(here[0] as Endpoint));
        expectRefused(answer, 405, new RegExp(method));
        expect({ path, allow: answer.headers.get("allow")?.split(", ").sort() }).toEqual({ path, allow: allowed });
      }
    }
  });

  test("with a body: 415, 400 and 413, and never a 5xx", async () => {
    const writes = endpoints.filter(({ described, path }) => described.requestBody && path.startsWith("/api/"));
    expect(writes.length).toBeGreaterThan(5);
    for (const one of writes) {
      const path = sample(one);
      expectRefused(await request(one.method, path, "{}", "text/plain"), 415, /application\/json/);
      for (const body of ["{", "[]", "null", "1", `"x"`, "{}{}", "\u0000", "[".repeat(100_000)])
        expectRefused(await request(one.method, path, body), 400);
      expectRefused(await request(one.method, path, JSON.stringify({ name: "x".repeat(1_048_577) })), 413, /1048576/);
      // Bodies with invalid members. Whatever the result, it must be an error of the sender.
      const odd = [
        '{"__proto__":{"id":"x"}}',
        '{"constructor":1,"id":{"$gt":""}}',
        JSON.stringify({ id: "a\u0000", name: "\u0000", key: "\u0000" }),
      ];
      for (const body of odd)
        expect({ of: named(one), body, status: (await request(one.method, path, body)).status }).toMatchObject({
          status: expect.toSatisfy((status: number) => status < 500),
        });
    }
  });

  test("for an object that does not exist: a declared status, in the one error shape", async () => {
    for (const one of endpoints.filter(({ path }) => path.includes("{") && !path.startsWith("/webhook"))) {
      const { status, body } = await request(one.method, sample(one), one.described.requestBody ? '{"name":"x"}' : undefined);
      expect({ of: named(one), status: String(status), body }).toMatchObject({
        status: expect.toBeOneOf(Object.keys(one.described.responses)),
      });
      if (status >= 400) expect(Object.keys(body)).toEqual(["error"]);
    }
  });

  test("with invalid path parameters: 4xx", async () => {
    for (const one of endpoints.filter(({ path }) => path.includes("{"))) {
      for (const value of ["%00", "%ff", "%", "%2e%2e%2f", "x".repeat(4_000), "%F0%9F%A6%89", "'%3B--"]) {
        const { status, body } = await request(
          one.method,
          sample(one, value),
          one.described.requestBody ? '{"name":"x"}' : undefined,
        );
        expect({ of: named(one), value, status }).toMatchObject({
          status: expect.toSatisfy((got: number) => got >= 400 && got < 500),
        });
        expect(Object.keys(body)).toEqual(["error"]);
      }
    }
  });

  test("that lists: X-Total-Count, and 400 for an invalid limit or offset", async () => {
    const lists = endpoints.filter(({ described }) => described.parameters?.some(({ name }) => name === "offset"));
    expect(lists.length).toBeGreaterThan(4);
    for (const one of lists) {
      const path = sample(one);
      const answer = await request("GET", path);
      if (answer.status === 200)
        expect({ of: named(one), total: answer.headers.get("x-total-count") }).toMatchObject({
          total: expect.stringMatching(/^\d+$/),
        });
      for (const query of [
        "limit=0",
        "limit=1001",
        "limit=many",
        "limit=1.5",
        "offset=-1",
        "limit=1&limit=2",
        "limit=",
        "offset=1e30",
      ])
        expectRefused(await request("GET", `${path}?${query}`), 400, /limit|offset/);
    }
  });
});

describe("the reference and unknown paths", () => {
  test("/docs, /openapi.json and /health are served", async () => {
    const docs = await fetch(`${service.url}/docs`);
    expect([docs.status, docs.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
    expect(await docs.text()).toContain("/openapi.json");
    expect(await service.get("/health")).toMatchObject({
      status: 200,
      body: { status: "ok", timestamp: expect.stringMatching(/Z$/) },
    });
  });

  test("404 in the one error shape everywhere else", async () => {
    for (const path of ["/api", "/api/nothing", "/api/agents/a/b/c", "/webhook", "/%F0%9F%A6%89"])
      expectRefused(await service.get(path), 404);
    expectRefused(await service.get("/%"), 400);
  });

  test("405 with Allow on unknown methods; no U+0000 in a path; numbers in plain digits only", async () => {
    for (const path of ["/openapi.json", "/docs", "/docs/page.js"]) {
      const answer = await service.post(path, {});
      expectRefused(answer, 405, /GET/);
      expect(answer.headers.get("allow")).toBe("GET");
    }
    expectRefused(await service.post("/webhook/%00", {}), 400, /U\+0000/);
    for (const limit of ["0x10", "1e2", "%2B5", "%205", "5.0"])
      expectRefused(await service.get(`/api/agents?limit=${limit}`), 400, /limit/);
    for (const id of ["0x1", "1e1", "1.0", "%201"]) expectRefused(await service.get(`/api/projects/${id}`), 400, /id/);
  });

  test("the one error shape even for invalid HTTP", async () => {
    expectRefused(await service.get("/api/agents", { headers: { "x-long": "x".repeat(20_000) } }), 431, /16 KiB/);
    expect(await say("GET /api/agents HTTP/1.1\r\nno header\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 .*\{"error":"[^"]+"\}$/s);
    expect(await say("GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 400 .*\{"error":"Host: [^"]+"\}/s,
    );
    expect(await say("GET /health HTTP/1.0\r\n\r\n"), "a load balancer's probe").toMatch(/^HTTP\/1\.1 200 .*"status":"ok"/s);
  });
});

describe("with API_KEYS", () => {
  test("401 without a key, and open where it must be", async () => {
    await using closed = await startService({ env: { API_KEYS: "the-key-number-one,the-key-number-two", HOST: "127.0.0.1" } });
    expectRefused(await closed.get("/api/agents"), 401, /Bearer/);
    for (const authorization of ["Bearer wrong", "Basic a2V5LW9uZQ==", "Bearer", "the-key-number-one"]) {
      const answer = await closed.get("/api/agents", { headers: { authorization } });
      expectRefused(answer, 401);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
    for (const key of ["the-key-number-one", "the-key-number-two"])
      expect((await closed.get("/api/agents", { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
    for (const path of ["/health", "/openapi.json", "/docs"]) expect((await closed.get(path)).status).toBe(200);
    expect((await closed.post("/webhook/alpha", { action: "x" })).status).toBe(200);
    const rpc = await closed.post("/signalbox.api.v1.AgentService/ListAgents", {});
    expect(rpc).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
  });
});
