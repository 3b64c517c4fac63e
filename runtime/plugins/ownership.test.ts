import { createHmac } from "node:crypto";
import type { Contributions, Source } from "@signalbox/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isGrantable, reservedNouns } from "../../sdk/manifest.ts";
import { declaredOperations } from "../declared-operations.ts";
import { openThrottle } from "../platform/throttle/open.ts";
import { admitDeclared } from "./admit.ts";
import { connectionsOf } from "./connections.ts";
import { createHost } from "./host.ts";
import { withSignature } from "./sandbox/contributions.ts";

const source = (connection: z.ZodObject): Source =>
  ({ about: "A.", connection, secrets: [], required: [], verify: () => ({ ok: true }) }) as unknown as Source;
const tool = { about: "T.", effect: "read", input: z.object({}), output: z.unknown(), run: () => 1 };
const loaded = (id: string, contributions: object, builtIn = false) => ({
  plugin: { id, version: "1.0.0" },
  builtIn,
  contributions: contributions as Contributions,
});

describe("a source's connection goes to its owner alone", () => {
  const sourceName = z.object({ token: z.string().optional() });
  test("not to a plugin that contributes a source of a name that another plugin has", () => {
    const host = createHost([loaded("owner", { sources: { thief: source(sourceName) } })]);
    expect(host.add(loaded("thief", { sources: { thief: source(sourceName) }, tools: { take: tool } }))).toEqual([
      "sources.thief",
    ]);
    expect(host.tools.get("thief.take")?.source).toBeNull();
    expect(host.sources.get("thief")?.plugin).toBe("owner");
  });
  test("but to its own tools", () => {
    const host = createHost([loaded("owner", { sources: { owner: source(sourceName) }, tools: { use: tool } })]);
    expect(host.tools.get("owner.use")?.source?.plugin).toBe("owner");
  });
});

describe("hosts of connections", () => {
  const schema = z.object({ url: z.string().default("http://127.0.0.1:8000"), other: z.string().optional() });
  const hostsWith = (settings: Record<string, string>, builtIn: boolean) => {
    const connections = connectionsOf({ variablesOf: () => settings }, { error: () => {} }, () => settings);
    const host = createHost([loaded("acme", { sources: { acme: source(schema) } }, builtIn)]);
    connections.use(host, { find: async () => undefined, forWork: () => null, ofPlugin: () => [] });
    return { operators: connections.hostsOf("acme"), guarded: connections.userHostsOf("acme") };
  };
  test("a default of a third-party plugin is reached through the guard only", () => {
    expect(hostsWith({}, false)).toEqual({ operators: [], guarded: ["127.0.0.1:8000"] });
    expect(hostsWith({ other: "http://10.0.0.1" }, false).operators).toEqual(["10.0.0.1"]);
    expect(hostsWith({ url: "http://10.0.0.1" }, false).operators).toEqual(["10.0.0.1"]);
  });
  test("a default of a plugin that comes with the service is the service's own", () => {
    expect(hostsWith({}, true).operators).toEqual(["127.0.0.1:8000"]);
  });
});

describe("a declared signature", () => {
  const signature = { type: "hmac-sha256", header: "x-sig", secret: "secret" } as const;
  const body = new TextEncoder().encode("{}");
  const good = { "x-sig": createHmac("sha256", "s3cret").update(body).digest("hex") };
  const check = (headers: Record<string, string>, verify: () => never | { ok: true } | { ok: false; reason: string }) =>
    withSignature(signature, verify)({ headers, body } as never, { secret: "s3cret" });
  const ended = () => {
    throw Object.assign(new Error("ended"), { code: "unavailable" });
  };
  test("is checked beside a verify that accepts everything", async () => {
    expect(await check(good, () => ({ ok: true }))).toEqual({ ok: true });
    for (const headers of [{}, { "x-sig": "" }, { "x-sig": "0".repeat(64) }])
      expect(await check(headers as Record<string, string>, () => ({ ok: true }))).toMatchObject({ ok: false });
  });
  test("does not replace a verify that refuses", async () => {
    expect(await check(good, () => ({ ok: false, reason: "too old" }))).toEqual({ ok: false, reason: "too old" });
  });
  test("decides while the process does not run", async () => {
    expect(await check(good, ended)).toEqual({ ok: true });
    expect(await check({}, ended)).toMatchObject({ ok: false });
  });
  test("cannot be verified without its secret", async () => {
    expect(await withSignature(signature, () => ({ ok: true }))({ headers: good, body } as never, {})).toMatchObject({
      ok: false,
    });
  });
});

test.each(["acme--corp", "acme-", "a--"])("the id %s is refused, because its variables would be ambiguous", (id) => {
  const declared = { id, version: "1.0.0", sdk: "^0.1.0", needs: [], contract: 1 };
  expect(() => admitDeclared(declared, new Set())).toThrow(/ambiguous/);
  expect(() => admitDeclared({ ...declared, id: "acme-corp" }, new Set())).not.toThrow();
});

test("the throttle keys of one plugin do not evict those of another", async () => {
  const throttle = openThrottle({ kind: "embedded", sql: null as never }, null, null as never);
  await throttle.block("acme/account", 60_000);
  for (let i = 0; i < 3_000; i++) await throttle.reserve(`flood/${i}`, 60_000);
  expect(await throttle.reserve("acme/account", 1)).toBeGreaterThan(1_000);
  expect(await throttle.reserve("other/account", 1)).toBe(0);
});

test("no plugin may call an operation that requires the scope admin, and each reserved noun is one of an operation", () => {
  const operations = declaredOperations().map(({ op }) => op);
  expect(operations.filter(({ id, scope }) => scope === "admin" && isGrantable(id)).map(({ id }) => id)).toEqual([]);
  const nouns = new Set(operations.map(({ id }) => id.split(".")[0] as string));
  expect(reservedNouns.filter((noun) => !nouns.has(noun))).toEqual([]);
  for (const id of ["pauses.pause", "data.erase", "gateway.register"]) expect([id, isGrantable(id)]).toEqual([id, false]);
});
