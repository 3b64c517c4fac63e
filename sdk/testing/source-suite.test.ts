import { expect, test } from "vitest";
import { PluginError } from "../errors.ts";
import { testSource } from "./index.ts";
import { failures } from "./sample/failures.ts";
import { sampleFixtures, samplePlugin } from "./sample/plugin.ts";

const sources = (change: Parameters<typeof samplePlugin>[0], at = "") =>
  failures(testSource(samplePlugin(change), sampleFixtures), at);
const memory = new Map<string, { id: string; url: string }>();

const wrong: [string, Parameters<typeof samplePlugin>[0], string][] = [
  ["lets every signature pass", () => ({ verify: () => ({ ok: true }) }), "flipped bit of the body"],
  [
    "lets an unsigned webhook pass",
    (s) => ({ verify: (r, c) => (r.headers["x-sign"] ? s.verify(r, c) : { ok: true }) }),
    "missing signature",
  ],
  ["refuses without a reason", () => ({ verify: () => ({ ok: false, reason: "" }) }), "missing signature"],
  [
    "shows the secret when it refuses",
    (s) => ({ verify: async (r, c) => ((await s.verify(r, c)).ok ? { ok: true } : { ok: false, reason: `not ${c.secret}` }) }),
    "missing signature",
  ],
  [
    "throws on strange JSON",
    (s) => ({ parse: (r) => ({ ...(s.parse(r) as object), actor: (r.payload as { by: string }).by.trim() || null }) as never }),
    "malformed JSON",
  ],
  [
    "hands NUL on",
    (s) => ({
      parse: async (r) => ({
        ...(await s.parse(r)),
        text: JSON.stringify(r.payload).includes("\\u0000") ? "\0" : (await s.parse(r)).text,
      }),
    }),
    "malformed JSON",
  ],
  [
    "changes the payload",
    (s) => ({ parse: (r) => s.parse({ ...r, payload: Object.assign(r.payload as object, { seen: 1 }) }) }),
    "reads a comment",
  ],
  [
    "parses twice to two results",
    (s) => ({ parse: async (r) => ({ ...(await s.parse(r)), delivery_id: crypto.randomUUID() }) }),
    "reads a comment",
  ],
  [
    "keeps endless delivery ids",
    (s) => ({ parse: async (r) => ({ ...(await s.parse(r)), delivery_id: r.headers["x-id"]?.trim() || null }) }),
    "delivery ids",
  ],
  [
    "takes a quoted marker for its own",
    (s) => ({
      parse: async (r) => {
        const e = await s.parse(r);
        return { ...e, marked: e.text.includes("<!-- signalbox:") };
      },
    }),
    "marker",
  ],
  ["does not know its marker", (s) => ({ parse: async (r) => ({ ...(await s.parse(r)), marked: false }) }), "marker"],
  ["finds nothing", () => ({ find: async () => null }), "which find returns"],
  [
    "refuses the second post of a key",
    (s) => ({
      deliver: async (p, c) => {
        if (await s.find(p, c)) throw new PluginError("conflict", "it is there already");
        return s.deliver(p, c);
      },
    }),
    "with the same key",
  ],
  [
    "loses what was posted twice",
    (s) => ({
      deliver: async (p, c) => {
        const comment = await s.deliver(p, c);
        memory.set(c.key, { id: memory.has(c.key) ? "twice" : comment.id, url: comment.url });
        return comment;
      },
      find: async (p, c) => (memory.get(c.key)?.id === "twice" ? null : s.find(p, c)),
    }),
    "with the same key",
  ],
  ["calls its account otherwise than its webhooks do", () => ({ account: async () => "The Bot" }), "actor and account"],
  [
    "takes every delivery for another change",
    (s) => ({ parse: async (r) => ({ ...(await s.parse(r)), change_key: r.headers["x-id"] ?? null }) }),
    "redelivery",
  ],
  [
    "takes a redelivery for something new",
    (s) => ({ parse: async (r) => ({ ...(await s.parse(r)), delivery_id: "x" }) }),
    "redelivery",
  ],
  [
    "makes an issue again when the answer is lost",
    (s) => ({ createIssue: async (i, c) => s.createIssue?.(i, c).catch(() => s.createIssue?.(i, c)) as never }),
    "createIssue is not repeated",
  ],
  [
    "reports an issue without its text",
    (s) => ({
      createIssue: async (i, c) => ({
        ...((await s.createIssue?.(i, c)) as { key: string; url: string }),
        event: { headers: {}, payload: { comment: "New", at: "1" } },
      }),
    }),
    "createIssue creates one issue",
  ],
  [
    "finds whatever carries a marker",
    (s) => ({
      find: async (p, c) => {
        await s.find(p, c);
        return { id: "1", url: "u" };
      },
    }),
    "which find returns",
  ],
  [
    "remembers instead of looking",
    (s) => ({
      deliver: async (p, c) => {
        const d = await s.deliver(p, c);
        memory.set(c.key, d);
        return d;
      },
      find: async (_, c) => memory.get(c.key) ?? null,
    }),
    "response is lost (drop)",
  ],
  [
    "repeats a post of unknown outcome",
    (s) => ({ deliver: (p, c) => s.deliver(p, c).catch(() => s.deliver(p, c)) }),
    "response is lost (status)",
  ],
  [
    "puts the token into its errors",
    (s) => ({
      deliver: (p, c) =>
        s.deliver(p, c).catch((e) => {
          throw new PluginError(e.code, `${e.message} ${c.connection.token}`, e);
        }),
    }),
    "deliver reports the status 503",
  ],
  [
    "hides the token in a cause",
    (s) => ({
      check: (c) =>
        s.check(c).catch((e) => {
          throw new PluginError(e.code, e.message, { ...e, cause: { headers: c.connection } });
        }),
    }),
    "check reports the status 503",
  ],
  [
    "throws plain errors",
    (s) => ({
      check: (c) =>
        s.check(c).catch((e) => {
          throw new Error(e.message);
        }),
    }),
    "check reports refused credentials",
  ],
  [
    "ignores the deadline",
    (s) => ({ find: (p, c) => s.find(p, { ...c, signal: AbortSignal.timeout(4000) }) }),
    "find reports no response",
  ],
  [
    "forgets how long to wait",
    (s) => ({
      deliver: (p, c) =>
        s.deliver(p, c).catch((e) => {
          throw new PluginError(e.code, e.message);
        }),
    }),
    "deliver reports the status 429 with a Retry-After of an hour",
  ],
  [
    "declares another signature than it verifies",
    () => ({ signature: { type: "hmac-sha256", header: "x-other", secret: "secret" } }),
    "the declared signature",
  ],
  [
    "declares a secret that is no setting",
    () => ({ signature: { type: "token", header: "x-sign", secret: "other" } }),
    "declared",
  ],
  ["names a secret that is no setting", () => ({ secrets: ["password" as never] }), "declares its connection"],
];

test("a correct source passes every case", async () => expect(await sources(undefined)).toEqual([]), 30_000);
test.for(wrong)("a source that %s fails", { timeout: 30_000 }, async ([, change, at]) => {
  expect(await sources(change, at)).not.toEqual([]);
});
test("a golden webhook that is parsed differently fails", async () => {
  const golden = [{ name: "x", headers: {}, payload: { comment: "Hi" }, expect: { text: "Ho" } }];
  expect(await failures(testSource(samplePlugin(), { ...sampleFixtures, golden }))).toEqual(["source sample: parse reads x"]);
}, 30_000);

test("requests to a host that the plugin declares go to the case's tracker", async () => {
  const host = "api.sample.example";
  const withAddress = (call: object) => ({
    ...call,
    connection: { ...(call as { connection: object }).connection, url: `https://${host}` },
  });
  // The last argument of what sends requests is the call.
  const change: Parameters<typeof samplePlugin>[0] = (source) => ({
    ...Object.fromEntries(
      Object.entries(source).flatMap(([name, value]) =>
        typeof value !== "function" || name === "verify" || name === "parse"
          ? []
          : [[name, (...args: object[]) => Reflect.apply(value, source, args.with(-1, withAddress(args.at(-1) as object)))]],
      ),
    ),
    connection: source.connection.omit({ url: true }) as never,
  });
  const plugin = { ...samplePlugin(change), hosts: [host] };
  const connection = () => {
    const { url: _, ...settings } = sampleFixtures.connection("http://127.0.0.1:9");
    return settings;
  };
  expect(await failures(testSource(plugin, { ...sampleFixtures, connection }))).toEqual([]);
}, 30_000);

test("a rejection of a valid signature names the reason of verify", async () => {
  const refuses = () => ({ verify: () => ({ ok: false as const, reason: "missing header X-Other" }) });
  const cases = testSource(samplePlugin(refuses), sampleFixtures);
  const accepts = cases.find(({ name }) => name.endsWith("verify accepts a valid signature"));
  await expect(accepts?.run()).rejects.toThrow("it rejected it: missing header X-Other");
});

test("an invalid result that the host refused is not reported as an error that parse threw", async () => {
  const parse = async () => {
    throw new PluginError("failed", "The answer of sources.sample.parse is not valid: actor: expected string");
  };
  const plugin = samplePlugin(() => ({ parse }));
  const reads = testSource(plugin, sampleFixtures).find(({ name }) => name.includes("malformed JSON"));
  await expect(reads?.run()).rejects.toThrow(
    /^parse must return a SourceEvent; The answer of sources\.sample\.parse is not valid: actor/,
  );
});
