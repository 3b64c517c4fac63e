import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf, token, type World } from "../harness/world.ts";

interface Integration {
  readonly id: string;
  readonly missing: readonly string[];
  readonly credentials: Record<string, string>;
  readonly error?: string;
}

const limit = 120_000;
const path = "/api/integrations";
const keys = [randomBytes(32).toString("hex"), randomBytes(32).toString("base64")] as const;
let world: World;
let service: Service;
/** The server of a customer, which the environment does not name. */
let other: Tracker;

beforeAll(async () => {
  other = await startTracker({ token: "other-token", login: "other-bot", autoCreate: true });
  world = await startWorld({ env: { ENCRYPTION_KEY: keys[0], WATCHDOG_ENABLED: "true" } });
  service = world.service;
}, limit);
afterAll(async () => {
  await other?.close();
  await world?.[Symbol.asyncDispose]();
}, limit);

const credentials = () => ({ token: "other-token", api_url: other.url, webhook_secret: "hook-secret" });
const make = (more: object = {}) =>
  service.post<Integration>(path, { source: "alpha", name: "Customer", credentials: credentials(), ...more });
const made = async (more: object = {}): Promise<Integration> => {
  const { status, body } = await make(more);
  expect([status, body.error]).toEqual([201, undefined]);
  return body;
};
const drop = async ({ id }: Integration) => expect((await service.del(`${path}/${id}`)).status).toBe(204);
const finish = (event_id: string) => waitForExecutions(service, { event_id, count: 2, timeout: 30_000 });

test("stores, lists, shows, changes and deletes; credentials are never shown again", async () => {
  const one = await made();
  const masked = { token: "********", api_url: "********", webhook_secret: "********" };
  expect(one).toMatchObject({ source: "alpha", name: "Customer", credentials: masked, agent_id: null, project_id: null });
  const list = await service.get<Integration[]>(path);
  expect([list.headers.get("x-total-count"), list.body[0]?.id]).toEqual(["1", one.id]);
  const changed = await service.put(`${path}/${one.id}`, { name: "Renamed", agent_id: "pm_default" });
  expect(changed).toMatchObject({ status: 200, body: { name: "Renamed", agent_id: "pm_default", credentials: masked } });
  expect((await service.put(`${path}/${one.id}`, { agent_id: null })).body).toMatchObject({ agent_id: null });
  const fewer = await service.put(`${path}/${one.id}`, { credentials: { token: "x" } });
  expect(fewer.body).toMatchObject({ credentials: { token: "********" } });
  expect(JSON.stringify([one, list, changed, fewer, await service.get(`${path}/${one.id}`)])).not.toMatch(
    /other-token|hook-secret/,
  );
  await drop(one);
  for (const gone of [
    service.get(`${path}/${one.id}`),
    service.put(`${path}/${one.id}`, { name: "x" }),
    service.del(`${path}/${one.id}`),
  ])
    expect((await gone).status).toBe(404);
  expect((await service.get(`${path}/x`)).status).toBe(400);
});

test("names what a source still needs, and keeps what it does not know", async () => {
  const one = await made({ source: "gamma", credentials: { token: "t", email: "ann@example.com" } });
  expect(one).toMatchObject({ credentials: { token: "********", email: "********" }, missing: ["url", "api_token"] });
  const { body } = await service.put(`${path}/${one.id}`, { credentials: { url: other.url, api_token: "t" } });
  expect(body).toMatchObject({ credentials: { url: "********", api_token: "********" }, missing: [] });
  await drop(one);
  const proof = await made({ credentials: { webhook_secret: "hook-secret" } });
  expect(proof.missing).toEqual(["token"]);
  expect((await service.webhook(issueOpened({}), { slug: proof.id, secret: "s3cret" })).status).toBe(401);
  await drop(proof);
});

test("a read integration can be written back: masked values stay, unless the address changes", async () => {
  const one = await made();
  const put = (credentials: object) => service.put<Integration>(`${path}/${one.id}`, { ...one, name: "Written", credentials });
  expect((await put(one.credentials)).body).toMatchObject({ name: "Written", credentials: one.credentials, missing: [] });
  const payload = issueOpened({ repo: "customer/app", number: 8 });
  const { status, body } = await service.webhook(payload, { slug: one.id, secret: "hook-secret" });
  expect(status).toBe(202);
  await finish(body.event_id);
  expect(textsOf(other, "customer/app", 8)).toHaveLength(2);
  for (const credentials of [{ ...one.credentials, api_url: "http://127.0.0.1:9" }, { token: "********" }]) {
    const refused = await put(credentials);
    expect([refused.status, refused.body.error]).toEqual([
      400,
      "credentials.token: must be sent again, because credentials.api_url points to another server",
    ]);
  }
  await drop(one);
});

test.each([
  [{ source: "nobody" }, "source: no loaded plugin provides a source with this name; available: alpha"],
  [{ credentials: {} }, "credentials: must have at least one member"],
  [{ credentials: { ...Array(101).fill("v") } }, "credentials: must have at most 100 members"],
  [{ credentials: { token: "t", webhook_secret: "  " } }, "credentials: must not have a secret of only spaces"],
  [{ credentials: { token: "********" } }, "credentials.token: is the mask of a value"],
  [{ credentials: { token: "t", api_url: "nonsense" } }, "credentials.api_url: must be "],
  [{ credentials: { token: "t", api_url: "http://10.0.0.1/" } }, "credentials.api_url: 10.0.0.1 is not a public address"],
  [{ credentials: { token: "t", api_url: "http://169.254.169.254/" } }, "credentials.api_url: 169.254.169.254 is not a public"],
  [{ credentials: { token: 5 } }, "credentials.token: must be a string"],
  [{ agent_id: "nobody" }, 'agent_id: there is no agent "nobody"'],
  [{ project_id: 4711 }, "project_id: there is no project 4711"],
  [{ credentials: "token" }, "credentials"],
])("refuses %j", async (more, error) => {
  const { status, body } = await make(more);
  expect([status, body.error]).toEqual([400, expect.stringContaining(error)]);
});

test("has its own webhook, verified by its secret and answered by its account", { timeout: limit }, async () => {
  const one = await made();
  const payload = issueOpened({ repo: "customer/app", number: 3 });
  const to = { slug: one.id };
  expect((await service.webhook(payload, { ...to, secret: "s3cret" })).status).toBe(401);
  const { status, body } = await service.webhook(payload, { ...to, secret: "hook-secret", delivery: "i-1" });
  expect([status, body.canonical_trigger]).toEqual([202, "issue.created"]);
  await finish(body.event_id);
  expect(textsOf(other, "customer/app", 3)).toHaveLength(2);
  expect(world.tracker.comments("customer/app", 3)).toHaveLength(0);
  expect((await service.webhook(payload, { ...to, secret: "hook-secret", delivery: "i-1" })).body.status).toBe("duplicate");
  // Events that its own account caused start nothing.
  const own = issueOpened({ repo: "customer/app", number: 4, sender: "other-bot" });
  expect((await service.webhook(own, { ...to, secret: "hook-secret" })).body.status).toBe("discarded");
  await drop(one);
  expect((await service.webhook(payload, { ...to, secret: "hook-secret" })).status).toBe(404);
});

test("its webhook secret is replaced while both are accepted; the audit log has neither", { timeout: limit }, async () => {
  const one = await made();
  const sent = async (secret: string) => (await service.webhook(issueOpened(), { slug: one.id, secret })).status;
  const rotate = (body: object) =>
    service.post<Integration & { webhook_secret: string | null }>(`${path}/${one.id}/rotate-secret`, body);
  const { body: random } = await rotate({});
  expect(Object.keys(random.credentials).sort()).toEqual(["api_url", "token", "webhook_secret", "webhook_secret_previous"]);
  const secret = random.webhook_secret ?? "";
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect([await sent(secret), await sent("hook-secret"), await sent("s3cret")]).toEqual([202, 202, 401]);
  const given = ["a", "secret", "of", "our", "own"].join("-");
  expect((await rotate({ webhook_secret: given })).body.webhook_secret).toBeNull();
  expect([await sent(given), await sent(secret), await sent("hook-secret")]).toEqual([202, 202, 401]);
  expect((await rotate({ webhook_secret: given })).status).toBe(409);
  const { webhook_secret_previous: _, ...rest } = random.credentials;
  expect((await service.put(`${path}/${one.id}`, { credentials: rest })).status).toBe(200);
  expect([await sent(given), await sent(secret)]).toEqual([202, 401]);
  const log = JSON.stringify((await service.get("/api/audit-log?operation=integrations.rotate-secret")).body);
  expect(log).toContain(one.id);
  expect(log).not.toMatch(new RegExp(`${secret}|${given}|hook-secret`));
  await drop(one);
});

test("per agent wins over per project, per project over the environment; not after a deletion", { timeout: limit }, async () => {
  const repo = "ours/app";
  const project = await service.post<{ id: number }>("/api/projects", { name: "Ours", source: "alpha", source_project_id: repo });
  const comments = async (issue: number) => {
    const { body } = await service.webhook(issueOpened({ repo, number: issue }));
    await finish(body.event_id);
    return [world.tracker, other].map((tracker) => textsOf(tracker, repo, issue).length);
  };
  const mine = await made({ agent_id: "ta_default", credentials: { token: "other-token", api_url: other.url } });
  expect(await comments(1)).toEqual([1, 1]);
  const all = await made({ project_id: project.body.id, credentials: { token: "other-token", api_url: other.url } });
  expect(await comments(2)).toEqual([0, 2]);
  await drop(all);
  expect(await comments(3)).toEqual([1, 1]);
  const recreated = [await service.del("/api/agents/ta_default"), await service.post("/api/agents/seed")];
  expect([...recreated.map(({ status }) => status), ...(await comments(4))]).toEqual([204, 200, 2, 0]);
  await drop(mine);
  expect(await comments(5)).toEqual([2, 0]);
});

test("without an address it uses the server that the environment names, also after a restart", {
  timeout: limit,
}, async () => {
  const one = await made({ credentials: { token, webhook_secret: "hook-secret" } });
  const answered = async (number: number) => {
    const { body } = await service.webhook(issueOpened({ repo: "own/app", number }), { slug: one.id, secret: "hook-secret" });
    await finish(body.event_id);
    return textsOf(world.tracker, "own/app", number).length;
  };
  expect(await answered(1)).toBe(2);
  await service.restart();
  expect(await answered(2)).toBe(2);
  await drop(one);
});

test("tries the connection of the environment", async () => {
  const tried = async (source: string) => (await service.get(`${path}/${source}/test`)).body;
  expect(await tried("alpha")).toEqual({ status: "ok", source: "alpha" });
  expect((await service.get(`${path}/nobody/test`)).status).toBe(404);
  world.tracker.fault({ method: "GET", path: "/user", status: 401, times: 9 });
  expect(await tried("alpha")).toEqual({ status: "failed", source: "alpha" });
});

test("keys rotate; a lost key is reported and harms nothing else", { timeout: limit }, async () => {
  await using bare = await startService({ env: { ENCRYPTION_KEY: keys[0] } });
  expect((await bare.get(`${path}/alpha/test`)).body).toEqual({ status: "not_configured", source: "alpha" });
  expect((await bare.get(`${path}/gamma/test`)).body).toMatchObject({ source: "gamma" });
  const { body: one } = await bare.post<Integration>(path, { source: "alpha", name: "One", credentials: credentials() });
  const arrives = async () => (await bare.webhook(issueOpened(), { slug: one.id, secret: "hook-secret" })).status;
  expect(await arrives()).toBe(200);
  await bare.restart({ ENCRYPTION_KEY: `${keys[1]},${keys[0]}` });
  expect(await arrives()).toBe(200);
  expect((await bare.post(`${path}/reencrypt`)).body).toEqual({ reencrypted: 1, unchanged: 0, failed: 0 });
  expect((await bare.post(`${path}/reencrypt`)).body).toEqual({ reencrypted: 0, unchanged: 1, failed: 0 });
  await bare.restart({ ENCRYPTION_KEY: keys[1] });
  expect(await arrives()).toBe(200);
  await bare.restart({ ENCRYPTION_KEY: keys[0] });
  expect(bare.logs()).toContain("it was encrypted with a key that is not in ENCRYPTION_KEY");
  const lost = async () => {
    const { body } = await bare.get<{ checks: { name: string; state: string; message: string }[] }>("/api/status");
    return body.checks.find(({ name, state }) => name === "credentials" && state !== "unknown");
  };
  expect(await eventually(lost)).toMatchObject({
    state: "failed",
    message: expect.stringMatching(/^\d cannot be decrypted: .*One.* it was encrypted with a key that is not in ENCRYPTION_KEY/),
  });
  expect(await arrives()).toBe(503);
  expect((await bare.get<Integration[]>(path)).body[0]?.credentials).toHaveProperty("token", "********");
  expect((await bare.post(`${path}/reencrypt`)).body).toEqual({ reencrypted: 0, unchanged: 0, failed: 1 });
  await bare.restart({ ENCRYPTION_KEY: "" });
  const refused = await bare.post<Integration>(path, { source: "alpha", name: "Two", credentials: credentials() });
  expect([refused.status, refused.body.error]).toEqual([503, expect.stringContaining("ENCRYPTION_KEY is not set")]);
  expect((await bare.put(`${path}/${one.id}`, { credentials: { token: "t" } })).status).toBe(503);
  expect((await bare.post(`${path}/reencrypt`)).status).toBe(503);
});

test("with API keys this machine's own addresses are refused like any private one", { timeout: limit }, async () => {
  const env = { ENCRYPTION_KEY: keys[0], API_KEYS: "the-key-of-the-operator", HOST: "127.0.0.1" };
  await using closed = await startService({ apiKey: "the-key-of-the-operator", env });
  const create = () => closed.post<Integration>(path, { source: "alpha", name: "x", credentials: credentials() });
  const refused = await create();
  expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining("127.0.0.1 is not a public address")]);
  await closed.restart({ ALLOW_PRIVATE_ADDRESSES: "127.0.0.0/8" });
  expect((await create()).status).toBe(201);
  // Permitted addresses are checked again at each call.
  const { body: one } = await create();
  await closed.restart({ ALLOW_PRIVATE_ADDRESSES: "10.0.0.0/8" });
  const seen = other.requests.length;
  await closed.webhook(issueOpened(), { slug: one.id, secret: "hook-secret" });
  await eventually(() => closed.logs().includes("127.0.0.1 is not a public address"));
  expect(other.requests.length).toBe(seen);
});
