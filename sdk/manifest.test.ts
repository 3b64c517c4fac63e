import { expect, test } from "vitest";
import { builtManifest, manifest, manifestError } from "./manifest.ts";
import { permissionDiff } from "./permission-diff.ts";

const least = { manifest: 1, id: "clock", kinds: ["tools"], sdk: "^0.1.0" };
const full = {
  ...least,
  needs: ["fetch"],
  permissions: { http: [{ host: "api.linear.app", methods: ["GET"], why: "reads issues" }] },
  secrets: {
    token: {
      title: "API token",
      inject: { as: "header", name: "authorization", format: "Bearer {}", hosts: ["api.linear.app"] },
    },
  },
};

test("a minimal manifest is filled with defaults", () => {
  expect(manifest.parse(least)).toEqual({
    ...least,
    entry: "dist/plugin.js",
    needs: [],
    permissions: { http: [], operations: [] },
    secrets: {},
    limits: { memory_mb: 64, concurrency: 32, call_ms: 30_000 },
  });
  expect(manifest.safeParse(full).success).toBe(true);
});

test.each([
  ["an unknown member", { ...least, permission: {} }, "permission"],
  ["an unknown permission", { ...least, permissions: { net: [] } }, "net"],
  ["a range of everything", { ...least, sdk: "*" }, "sdk"],
  [
    "a host with a scheme",
    { ...full, permissions: { http: [{ host: "http://x.example", methods: ["GET"], why: "w" }] } },
    "permissions.http.0.host",
  ],
  [
    "a wildcard host",
    { ...full, permissions: { http: [{ host: "*.example.com", methods: ["GET"], why: "w" }] } },
    "permissions.http.0.host",
  ],
  [
    "an address in place of a host",
    { ...full, permissions: { http: [{ host: "10.0.0.1", methods: ["GET"], why: "w" }] } },
    "permissions.http.0.host",
  ],
  [
    "a permission without a reason",
    { ...full, permissions: { http: [{ host: "x.example", methods: ["GET"] }] } },
    "permissions.http.0.why",
  ],
  ["a secret for a host that is not permitted", { ...full, permissions: { http: [] } }, "secrets.token.inject.hosts"],
  ["an entry outside of the package", { ...least, entry: "../plugin.js" }, "entry"],
  [
    "text that turns its direction around",
    { ...least, title: "\u202egnirts" },
    "signalbox.title: must not contain characters that change",
  ],
  ["text that steers a terminal", { ...least, about: "a\u001b[2J" }, "signalbox.about: must not contain control characters"],
  ["no edition", { ...least, manifest: undefined }, "signalbox.manifest: is required; it must be 1"],
  ["a member that is not there", { ...least, sdk: undefined }, "signalbox.sdk: is required; it must be a string"],
  ["hosts without the need for fetch", { ...full, needs: [] }, "needs"],
])("%s is refused, and the member named", (_, value, member) => {
  const parsed = manifest.safeParse(value);
  expect(parsed.success).toBe(false);
  expect(manifestError(parsed.error as never)).toContain(member);
});

test("additional permissions of a version are described in words", () => {
  const before = manifest.parse(full);
  expect(permissionDiff(before, before)).toEqual([]);
  const after = structuredClone(before);
  after.permissions.http[0]?.methods.push("POST");
  after.needs.push("embed");
  expect(permissionDiff(before, after)).toEqual(["http: POST https://api.linear.app (reads issues)", "capability: embed"]);
  const exposed = structuredClone(before);
  delete exposed.secrets.token?.inject;
  expect(permissionDiff(before, exposed)).toEqual(["secret: token, now readable by the plugin"]);
  expect(permissionDiff(null, before)).toHaveLength(3);
});

test("a built manifest carries version, digest and what the bundle contributes", () => {
  const built = { ...full, version: "1.2.0", bundle: { sha256: "a".repeat(64), bytes: 10 } };
  expect(builtManifest.parse(built).contributes.tools).toEqual({});
  expect(builtManifest.safeParse({ ...built, bundle: { sha256: "x", bytes: 1 } }).success).toBe(false);
});

const built = { ...least, version: "1.0.0", bundle: { sha256: "0".repeat(64), bytes: 1 } };
test.each(["01.2.3", "1.2", "v1.2.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+a+b"])(
  "the version %s is refused",
  (version) => {
    expect(builtManifest.safeParse({ ...built, version }).success).toBe(false);
  },
);
test.each(["0.0.0", "1.2.3-rc.1", "0.1.0-dev.1767225600000", "1.2.3+build.5", "1.0.0--"])(
  "the version %s is taken",
  (version) => {
    expect(builtManifest.safeParse({ ...built, version }).success).toBe(true);
  },
);
test("additions are found whatever their name, also names that every object has", () => {
  const of = (names: string[]) => {
    const all = Object.fromEntries(names.map((name) => [name, { about: "A." }]));
    const secrets = Object.fromEntries(names.map((name) => [name, { title: "T" }]));
    return builtManifest.parse({ ...built, secrets, contributes: { queues: all, memories: all } });
  };
  expect(permissionDiff(of([]), of(["constructor"]))).toEqual([
    "secret: constructor, readable by the plugin",
    "queue: constructor, which receives every event and every execution that ends, waits or is held",
    "memory store: constructor, which receives memories if an operator chooses it",
  ]);
});
