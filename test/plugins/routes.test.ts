import { once } from "node:events";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Built, buildPlugin } from "../harness/plugin-bundle.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const limit = 120_000;
const key = "the-key-of-the-admin";

/** Routes that do what their requests ask. */
const source = (version: string) => `
  import { definePlugin, PluginError, route } from "@signalbox/sdk";
  import { z } from "zod";
  export default definePlugin({
    id: "doors", version: "${version}", sdk: "^0.1.0", config: z.object({}), needs: ["operations"],
    setup: ({ operations }) => ({ routes: {
      status: route({ about: "Says that it is there.", method: "GET", scope: "open", run: (_, { caller }) => ({ status: 200, body: { version: "${version}", caller } }) }),
      echo: route({ about: "Says what came.", method: "POST", scope: "write", input: z.object({ text: z.string() }), run: ({ query, headers, body, input }, { caller }) => ({
        status: 201, headers: { "x-request-id": "7" }, body: { query, headers, body, text: input.text, caller } }) }),
      projects: route({ about: "Counts projects.", method: "GET", scope: "read", run: async () => ({ status: 200, body: { total: (await operations.call("projects.list", {})).total } }) }),
      answer: route({ about: "Answers what it is told.", method: "POST", scope: "read", run: ({ body }) => {
        if (body.throws) throw new PluginError(body.throws, "as told", { retry_after_ms: 3000 });
        if (body.breaks) throw new Error("inner secret");
        if (body.exits) Deno.exit(3);
        return body.size ? { status: 200, body: "x".repeat(body.size) } : body;
      } }),
    } }),
  });`;
const input = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const routes = {
  status: { about: "Says that it is there.", method: "GET", scope: "open" },
  echo: { about: "Says what came.", method: "POST", scope: "write", input },
  projects: { about: "Counts projects.", method: "GET", scope: "read" },
  answer: { about: "Answers what it is told.", method: "POST", scope: "read" },
};
const permissions = {
  open_routes: [{ name: "status", why: "The status page asks it." }],
  operations: [{ id: "projects.list", why: "Counts them." }],
};
const build = (version: string, more: object = {}): Promise<Built> =>
  buildPlugin(source(version), {
    id: "doors",
    version,
    kinds: ["routes"],
    needs: ["operations"],
    permissions,
    contributes: { routes },
    ...more,
  });

let service: Service;
let built: Built;
beforeAll(async () => {
  built = await build("1.0.0");
  service = await startService({ apiKey: key, env: { API_KEYS: key } });
}, limit);
afterAll(() => service?.close());

interface Failure {
  readonly error: string;
}
const answer = (body: object) => service.post<Failure>("/plugins/doors/answer", body);
/** Without a key. */
const anybody = (path: string, init: RequestInit = {}) => fetch(`${service.url}${path}`, init);

describe("before an approval", () => {
  test("an open route that the manifest does not name is refused", async () => {
    const body = { ...built.body, manifest: { ...built.manifest, permissions: { ...permissions, open_routes: [] } } };
    const { status, body: told } = await service.post<Failure>("/api/plugins", body);
    expect(status).toBe(400);
    expect(told.error).toContain("must contain the route status, which needs no API key");
  });
  test("the operator sees what is open, and nothing is served", async () => {
    const { status, body } = await service.post<{ waiting: { widens: string[] }; routes: object[] }>("/api/plugins", built.body);
    expect(status).toBe(201);
    expect(body.waiting.widens).toContain("open route: status, needs no API key (The status page asks it.)");
    expect(body.routes).toContainEqual({ path: "/plugins/doors/echo", method: "POST", scope: "write", about: "Says what came." });
    expect((await service.get("/plugins/doors/status")).status).toBe(404);
    expect((await anybody("/plugins/doors/status")).status).toBe(401);
  });
});

describe("an approved plugin's routes", () => {
  beforeAll(async () => {
    expect((await service.post("/api/plugins/doors/approve", {})).status).toBe(200);
    await eventually(async () => (await service.get("/plugins/doors/status")).status === 200 || null, { timeout: 30_000 });
  }, limit);

  test("an open route answers everyone, uncached and without CORS headers", async () => {
    const response = await anybody("/plugins/doors/status", { headers: { origin: "https://elsewhere.example" } });
    expect(await response.json()).toEqual({ version: "1.0.0", caller: "anonymous" });
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });
  test("the others ask for a key with their scope", async () => {
    expect((await anybody("/plugins/doors/echo", { method: "POST" })).status).toBe(401);
    const { body } = await service.post<{ key: string }>("/api/keys", { name: "reader", scopes: ["read"] });
    const headers = { authorization: `Bearer ${body.key}`, "content-type": "application/json" };
    const refused = await anybody("/plugins/doors/echo", { method: "POST", headers, body: '{"text":"a"}' });
    expect([refused.status, Object.keys((await refused.json()) as object)]).toEqual([403, ["error"]]);
    const allowed = await anybody("/plugins/doors/answer", { method: "POST", headers, body: '{"status":200,"body":1}' });
    expect([allowed.status, await allowed.json()]).toEqual([200, 1]);
  });
  test("the request comes as JSON, without the caller's credentials", async () => {
    const headers = { "X-Trace": "9", cookie: "a=b", "x-api-key": key };
    const {
      status,
      headers: sent,
      body,
    } = await service.post<Record<string, object>>("/plugins/doors/echo?a=1&b=%C3%BC", { text: "hi", more: [1] }, { headers });
    expect([status, sent.get("x-request-id")]).toEqual([201, "7"]);
    expect(body).toMatchObject({
      query: { a: "1", b: "ü" },
      body: { text: "hi", more: [1] },
      text: "hi",
      headers: { "x-trace": "9" },
    });
    expect(JSON.stringify(body)).not.toContain(key);
    expect(Object.keys(body.headers ?? {})).not.toContain("cookie");
  });
  test("invalid requests are refused by host or plugin, in the one error shape", async () => {
    const wrong: [Promise<{ status: number; body: unknown }>, number, RegExp][] = [
      [service.get("/plugins/doors/echo"), 405, /takes POST, not GET/],
      [service.get("/plugins/doors/nothing"), 404, /no route nothing/],
      [service.post("/plugins/doors/echo?a=1&a=2", { text: "a" }), 400, /^a: is given 2 times/],
      [service.post("/plugins/doors/echo", {}), 400, /^text: /],
      [service.post("/plugins/doors/echo", "{"), 400, /not valid JSON/],
      [service.post("/plugins/doors/echo", "{}", { headers: { "content-type": "text/plain" } }), 415, /application\/json/],
      [service.post("/plugins/doors/echo", { text: "x".repeat(1_100_000) }), 413, /larger than/],
      [answer({ throws: "not_found" }), 404, /as told/],
      [answer({ throws: "conflict" }), 409, /as told/],
      [answer({ throws: "unavailable" }), 503, /as told/],
      [answer({ status: 418, body: { error: "a teapot" } }), 418, /a teapot/],
    ];
    for (const [asked, status, error] of wrong) {
      const told = await asked;
      expect(told).toMatchObject({ status, body: { error: expect.stringMatching(error) } });
      expect(Object.keys(told.body as object)).toEqual(["error"]);
    }
    expect((await answer({ throws: "rate_limited" })).headers.get("retry-after")).toBe("3");
  });
  test("clients that do not send the rest of their body keep no one out", async () => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": 100 };
    const held = Array.from({ length: 64 }, () =>
      request(`${service.url}/plugins/doors/echo`, {
        method: "POST",
        headers: { ...headers, expect: "100-continue" },
        agent: false,
      }),
    );
    for (const one of held) one.on("error", () => {}).flushHeaders();
    await Promise.all(held.map((one) => once(one, "continue")));
    expect((await service.post("/plugins/doors/echo", { text: "hi" })).status).toBe(201);
    for (const one of held) one.destroy();
  });
  test("an answer that breaks the contract is an error", async () => {
    const broken = [
      { breaks: true },
      { status: 302, headers: { location: "https://elsewhere.example" }, body: null },
      { status: 200, headers: { "set-cookie": "a=b" }, body: {} },
      { status: 200, headers: { "access-control-allow-origin": "*" }, body: {} },
      { status: 200, headers: { etag: "a\r\nset-cookie: a=b" }, body: {} },
      { status: 400, body: { message: "another shape" } },
      { size: 2_100_000 },
      { status: "200", body: {} },
    ];
    for (const one of broken) {
      const { status, headers, body } = await answer(one);
      expect([status, headers.get("set-cookie")]).toEqual([502, null]);
      expect(body).toEqual({ error: "The route answer of the plugin doors failed; the service's log says why." });
    }
    expect(service.logs()).toContain("inner secret");
  });
  test(
    "a version that opens a route or requires a lower scope waits; unchanged routes need no approval",
    async () => {
      const wider = { ...permissions, open_routes: [...permissions.open_routes, { name: "answer", why: "For all." }] };
      const opened = { ...routes, answer: { ...routes.answer, scope: "open" } };
      const next = await build("2.0.0", { permissions: wider, contributes: { routes: opened } });
      const { body } = await service.post<{ version: string; waiting: { widens: string[] } }>("/api/plugins", next.body);
      expect(body).toMatchObject({ version: "1.0.0", waiting: { widens: [expect.stringContaining("open route: answer")] } });
      const lower = { ...routes, echo: { ...routes.echo, scope: "read" } };
      const lowered = await service.post("/api/plugins", (await build("2.1.0", { contributes: { routes: lower } })).body);
      const widens = ["route: echo, for API keys with the scope read, before write"];
      expect(lowered.body).toMatchObject({ version: "1.0.0", waiting: { version: "2.1.0", widens } });
      await service.post("/api/plugins", (await build("1.1.0")).body);
      await eventually(async () => {
        const { body } = await service.get<{ version: string }>("/plugins/doors/status");
        return body.version === "1.1.0";
      });
    },
    limit,
  );
  test(
    "an operator can deny permissions, upgrades keep that, and they can be restored",
    async () => {
      const restrict = (body: object) => service.put<{ denied: string[] } & Failure>("/api/plugins/doors/permissions", body);
      const total = async () => (await service.get<{ total: number }>("/plugins/doors/projects")).status;
      const version = async () => (await service.get<{ version: string }>("/plugins/doors/status")).body.version;
      const restrictedAt = (wanted: string) => eventually(async () => (await version()) === wanted && (await total()) === 502);
      expect(await total()).toBe(200);
      const beyond = await restrict({ operations: ["projects.list", "keys.create"] });
      expect(beyond).toMatchObject({ status: 400, body: { error: expect.stringContaining("operations[1]: keys.create") } });
      const { status, body } = await restrict({ operations: [], open_routes: [] });
      expect(status).toBe(200);
      expect(body.denied.map((one) => one.split(" (")[0])).toEqual([
        "operation: projects.list",
        "open route: status, needs no API key",
      ]);
      await restrictedAt("1.1.0");
      expect((await anybody("/plugins/doors/status")).status).toBe(401);
      await service.post("/api/plugins", (await build("1.2.0")).body);
      await restrictedAt("1.2.0");
      expect((await anybody("/plugins/doors/status")).status).toBe(401);
      expect((await restrict({ operations: ["projects.list"] })).body.denied).toHaveLength(1);
      await eventually(async () => (await total()) === 200);
      expect((await anybody("/plugins/doors/status")).status).toBe(401);
    },
    limit,
  );
  test(
    "routes of a plugin that is down answer 503, those of a disabled one 404",
    async () => {
      let down: { status: number; body: Failure };
      // Again if a busy machine asks only after the next start. The pause before it doubles with each crash.
      do {
        expect((await answer({ exits: true })).status).toBe(503);
        down = await service.get<Failure>("/plugins/doors/status");
      } while (down.status === 200);
      expect(down.status).toBe(503);
      expect(Object.keys(down.body)).toEqual(["error"]);
      await eventually(async () => (await service.get("/plugins/doors/status")).status === 200 || null, { timeout: 30_000 });
      await service.post("/api/plugins/doors/disable");
      await eventually(async () => (await service.get("/plugins/doors/status")).status === 404 || null);
    },
    limit,
  );
});
