import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { example } from "../harness/alpha-payloads.ts";
import { mappingsAt, path, pull, type Refusal, triggersOf } from "../harness/mappings.ts";
import { type Service, startService } from "../harness/service.ts";
import { webhookSecret } from "../harness/world.ts";

type Said = { readonly paths: Record<string, { readonly post: { readonly responses: object } }> };
const limit = 120_000;
let service: Service;

beforeAll(async () => {
  const env = { ENCRYPTION_KEY: "b".repeat(64), TRUSTED_PROXIES: "127.0.0.1", ALPHA_TOKEN: "t" };
  service = await startService({ webhookSecret, env });
}, limit);
afterAll(() => service?.close(), limit);

const { made, send, signed } = mappingsAt(() => service);

test("a token, a signature, or both", { timeout: limit }, async () => {
  const secret = "tok3n-of-the-sender";
  const guarded = { source: "shop", extraction_rules: { event_type: "$.type" }, canonical_trigger: "shop.sold" };
  const token = { method: "token", header: "X-Shop-Token", secret };
  const hmac = { method: "hmac_sha256", header: "X-Shop-Sig", prefix: "sha256=", secret };
  const first = await made({ ...guarded, path_pattern: "/webhook/shop/token", auth: token });
  const second = await made({ ...guarded, path_pattern: "/webhook/shop/hmac", auth: hmac });
  expect(second.auth).toEqual({ method: "hmac_sha256", header: "X-Shop-Sig", prefix: "sha256=" });
  expect(JSON.stringify([first, await service.get(path), service.logs()])).not.toContain(secret);
  const body = { type: "sold" };
  const digest = createHmac("sha256", secret).update(JSON.stringify(body)).digest("hex");
  expect((await send("shop/token", body)).status).toBe(401);
  expect((await send("shop/token", body, { "x-shop-token": "wrong" })).status).toBe(401);
  expect((await send("shop/token", body, { "x-shop-token": secret })).status).toBe(202);
  expect((await send("shop/hmac", body, { "x-shop-sig": digest })).status).toBe(401);
  expect((await send("shop/hmac", { ...body, more: 1 }, { "x-shop-sig": `sha256=${digest}` })).status).toBe(401);
  expect((await send("shop/hmac", body, { "x-shop-sig": `sha256=${digest}` })).status).toBe(202);
  // Without a new one, the secret is kept; with another method, it is removed.
  expect((await service.put(`${path}/${second.id}`, { canonical_trigger: "shop.changed" })).status).toBe(200);
  expect((await send("shop/hmac", body, { "x-shop-sig": `sha256=${digest}` })).body.canonical_trigger).toBe("shop.changed");
  // A response can be sent back, with or without a secret.
  expect((await service.put(`${path}/${second.id}`, { auth: second.auth })).status).toBe(200);
  expect((await send("shop/hmac", body)).status).toBe(401);
  expect((await send("shop/hmac", body, { "x-shop-sig": `sha256=${digest}` })).status).toBe(202);
  const other = await service.put<Refusal>(`${path}/${second.id}`, { auth: { method: "token", header: "X-Shop-Token" } });
  expect([other.status, other.body.error]).toEqual([400, expect.stringMatching(/^auth\.secret: .*token/)]);
  expect((await service.put(`${path}/${second.id}`, { auth: { method: "none" } })).status).toBe(200);
  expect((await send("shop/hmac", body)).status).toBe(202);
});

test("addresses: only trusted proxies are looked through", async () => {
  const auth = { method: "ip_allowlist", cidrs: ["198.51.100.0/24"] };
  await made({ source: "wall", path_pattern: "/webhook/wall", canonical_trigger: "wall.seen", auth });
  const from = (forwarded?: string) => send("wall", {}, forwarded === undefined ? {} : { "x-forwarded-for": forwarded });
  expect((await from()).status).toBe(401);
  expect((await from("198.51.100.7")).status).toBe(202);
  expect((await from("198.51.100.7, 203.0.113.1")).status).toBe(401);
  expect((await from("203.0.113.1, 198.51.100.7:4711")).status).toBe(202);
});

test("auth of an event mapping guards that event, and refused webhooks are not stored", async () => {
  const auth = { method: "token", header: "X-Extra", secret: "e" };
  const { id } = await made({ ...pull("watch", null, "repo.starred"), auth });
  const count = async () => (await service.get("/api/webhook-events?limit=1")).headers.get("x-total-count");
  const before = await count();
  expect((await signed(example("watch", "started"), "watch")).status).toBe(401);
  expect(await count()).toBe(before);
  const let_in = await service.webhook(example("watch", "started"), { event: "watch", headers: { "x-extra": "e" } });
  expect(triggersOf(let_in)).toEqual([202, ["repo.starred"]]);
  // A replay was authenticated before.
  expect((await service.post(`/api/webhook-events/${let_in.body.event_id}/replay`)).status).toBe(202);
  await service.del(`${path}/${id}`);
});

test("without ENCRYPTION_KEY a secret is refused, naming it; with another key its webhooks are refused", {
  timeout: limit,
}, async () => {
  const guarded = { source: "acme", path_pattern: "/webhook/acme", canonical_trigger: "a.b" };
  const auth = { method: "token", header: "X-T", secret: "tok3n" };
  const { id } = await made({ ...guarded, auth });
  await service.restart({ ENCRYPTION_KEY: "c".repeat(64) });
  expect(service.logs()).toMatch(new RegExp(`the secret of a webhook mapping cannot be decrypted.*"webhook_mapping":${id}\\b`));
  expect((await service.post("/webhook/acme", {}, { headers: { "x-t": "tok3n" } })).status).toBe(503);
  const { body: said } = await service.get<Said>("/openapi.json");
  expect(Object.keys(said.paths["/webhook/{slug}"]?.post.responses ?? {})).toContain("503");
  await service.restart({ ENCRYPTION_KEY: "" });
  const refused = await service.post<Refusal>(path, { ...guarded, path_pattern: "/webhook/other", auth });
  expect([refused.status, refused.body.error]).toEqual([503, expect.stringContaining("ENCRYPTION_KEY is not set")]);
  expect((await service.post(path, { ...guarded, path_pattern: "/webhook/open" })).status).toBe(201);
  await service.restart({ ENCRYPTION_KEY: `${"c".repeat(64)},${"b".repeat(64)}` });
  expect((await service.post("/webhook/acme", {}, { headers: { "x-t": "tok3n" } })).status).toBe(202);
});
