import { type BuiltManifest, builtManifest, manifest, manifestError, permissionDiff } from "@signalbox/sdk/manifest";
import fc from "fast-check";
import { expect, test } from "vitest";

const built = {
  manifest: 1,
  id: "clock",
  kinds: ["tools"],
  sdk: "^0.1.0",
  version: "1.0.0",
  bundle: { sha256: "0".repeat(64), bytes: 1 },
  needs: ["fetch"],
  permissions: { http: [{ host: "api.linear.app", methods: ["GET"], why: "reads issues" }] },
  secrets: {
    token: {
      title: "API token",
      inject: { as: "header", name: "authorization", format: "Bearer {}", hosts: ["api.linear.app"] },
    },
  },
};

/** JSON made of the manifest's own members, in places where they do not belong. */
const members = [
  "id",
  "kinds",
  "sdk",
  "permissions",
  "http",
  "host",
  "methods",
  "why",
  "secrets",
  "inject",
  "contributes",
  "config",
];
members.push(
  "tools",
  "sources",
  "connection",
  "properties",
  "default",
  "required",
  "routes",
  "limits",
  "__proto__",
  "constructor",
);
const damaged = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(null, true, -1, 1e308, "", "a", "authorization", "api.example.com", "\ud800", [], "^0.1.0", "fetch"),
    fc.array(tie("any"), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom(...members), fc.string({ maxLength: 4 })), tie("any")), { maxLength: 4 })
      .map((all) => JSON.parse(`{${all.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)}}`) as unknown),
  ),
})).any;

test("a manifest with any member replaced is accepted or refused with a sentence that names the member", () => {
  const base = { ...built, contributes: { tools: {}, sources: {}, routes: {} } };
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(base), "title", "about", "limits", "config", "x"), damaged, (name, value) => {
      for (const schema of [manifest, builtManifest]) {
        const read = schema.safeParse({ ...base, [name]: value });
        if (!read.success) expect(manifestError(read.error)).toMatch(/^signalbox(\.([\w$-]+|"(\\.|[^"\\])*"))*: ./su);
        else if (schema === builtManifest) {
          const diff = permissionDiff(null, read.data as BuiltManifest);
          for (const line of diff) expect(line).not.toMatch(/undefined|\[object|\n/);
          expect(permissionDiff(read.data as BuiltManifest, read.data as BuiltManifest)).toEqual([]);
        }
      }
    }),
    { numRuns: 200 },
  );
});
