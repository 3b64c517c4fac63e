import { builtManifest } from "@signalbox/sdk/manifest";
import { describe, expect, test } from "vitest";
import { denialsFor, restrictPermissions } from "./restrict-permissions.ts";

const manifest = builtManifest.parse({
  manifest: 1,
  id: "worker",
  version: "1.0.0",
  sdk: "^0.1.0",
  kinds: ["routes"],
  needs: ["fetch", "operations"],
  bundle: { sha256: "0".repeat(64), bytes: 1 },
  permissions: {
    http: [
      { host: "a.example.com", methods: ["GET", "POST"], why: "Reads and writes." },
      { host: "b.example.com", methods: ["GET"], why: "Reads." },
    ],
    operations: [{ id: "projects.list", why: "Finds them." }],
    open_routes: [{ name: "hook", why: "Is called from outside." }],
  },
  contributes: { routes: { hook: { about: "Takes a call.", method: "POST", scope: "open" } } },
});
const http = (given: typeof manifest) => given.permissions.http.map(({ host, methods }) => [host, ...methods].join(" "));

describe("permissions that an operator leaves a plugin", () => {
  test("a method, a host, an operation and an open route can be denied", () => {
    const wanted = { http: [{ host: "a.example.com", methods: ["GET"] }], operations: [], open_routes: [] };
    const left = restrictPermissions(manifest, denialsFor(wanted, manifest, null));
    // Listed without a method, so that no setting with its address makes it reachable again.
    expect(http(left)).toEqual(["a.example.com GET", "b.example.com"]);
    expect(left.permissions.operations).toEqual([]);
    expect(left.contributes.routes.hook?.scope).toBe("write");
  });
  test("permissions that are not named stay", () => {
    const first = denialsFor({ operations: [] }, manifest, null);
    const second = denialsFor({ http: [] }, manifest, first);
    expect(second).toMatchObject({ operations: ["projects.list"], open_routes: [] });
    expect(http(restrictPermissions(manifest, second))).toEqual(["a.example.com", "b.example.com"]);
  });
  test("a denial stays when a newer version does not ask for the permission", () => {
    const [a, b] = manifest.permissions.http as [(typeof manifest.permissions.http)[0], (typeof manifest.permissions.http)[0]];
    const newer = { ...manifest, permissions: { ...manifest.permissions, http: [{ ...a, methods: ["GET" as const] }] } };
    const before = denialsFor({ http: [{ host: a.host, methods: ["GET"] }] }, manifest, null);
    const after = denialsFor({ http: [{ host: a.host, methods: ["GET"] }] }, newer, before);
    expect(http(restrictPermissions(manifest, after))).toEqual([`${a.host} GET`, b.host]);
  });
  test.each([
    [
      { http: [{ host: "c.example.com", methods: ["GET"] }] },
      /^http\[0\]: c\.example\.com is not a permission .* a\.example\.com, b/,
    ],
    [{ http: [{ host: "b.example.com", methods: ["GET", "POST"] }] }, /^http\[0\]\.methods\[1\]: POST is not a permission/],
    [{ operations: ["keys.create"] }, /^operations\[0\]: keys\.create/],
    [{ open_routes: ["other"] }, /^open_routes\[0\]: other/],
  ])("more than the manifest asks for is refused: %j", (wanted, message) => {
    expect(() => denialsFor(wanted, manifest, null)).toThrow(message);
  });
  test("nothing denied is the manifest itself", () => expect(restrictPermissions(manifest, null)).toBe(manifest));
});
