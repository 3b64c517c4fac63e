import { expect, test } from "vitest";
import { builtManifest, faultOf, manifest } from "./manifest.ts";
import { widened } from "./widened.ts";

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

test("the least manifest is filled with defaults", () => {
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
  ["hosts without the need for fetch", { ...full, needs: [] }, "needs"],
])("%s is refused, and the member named", (_, value, member) => {
  const parsed = manifest.safeParse(value);
  expect(parsed.success).toBe(false);
  expect(faultOf(parsed.error as never)).toContain(member);
});

test("what a version may do beyond another is told in words", () => {
  const before = manifest.parse(full);
  expect(widened(before, before)).toEqual([]);
  const after = structuredClone(before);
  after.permissions.http[0]?.methods.push("POST");
  after.needs.push("embed");
  expect(widened(before, after)).toEqual(["http: POST https://api.linear.app (reads issues)", "capability: embed"]);
  const exposed = structuredClone(before);
  delete exposed.secrets.token?.inject;
  expect(widened(before, exposed)).toEqual(["secret: token, now readable by the plugin"]);
  expect(widened(null, before)).toHaveLength(3);
});

test("a built manifest carries version, digest and what the bundle contributes", () => {
  const built = { ...full, version: "1.2.0", bundle: { sha256: "a".repeat(64), bytes: 10 } };
  expect(builtManifest.parse(built).contributes.tools).toEqual({});
  expect(builtManifest.safeParse({ ...built, bundle: { sha256: "x", bytes: 1 } }).success).toBe(false);
});
