import { builtManifest, manifest as manifestSchema, permissionDiff } from "@signalbox/sdk/manifest";
import { describe, expect, test } from "vitest";
import { toolOf } from "../harness/plugin-bundle.ts";

/** A manifest with everything that an approval covers. */
const full = {
  manifest: 1,
  id: "acme",
  version: "1.0.0",
  kinds: ["tools"],
  sdk: "^0.1.0",
  bundle: { sha256: "0".repeat(64), bytes: 1 },
  needs: ["fetch"],
  permissions: { http: [{ host: "api.acme.example", methods: ["GET"], why: "Reads." }] },
  secrets: {
    token: { title: "Token", inject: { as: "header", name: "authorization", format: "Bearer {}", hosts: ["api.acme.example"] } },
  },
  config: { type: "object", properties: { token: { type: "string" } } },
  contributes: {
    tools: { look: toolOf("Looks.") },
    sources: {
      acme: {
        about: "A.",
        connection: { type: "object", properties: { url: { type: "string" }, webhook_secret: { type: "string" } } },
        secrets: ["webhook_secret"],
        required: ["webhook_secret"],
        signature: { type: "hmac-sha256", header: "x-acme-signature", secret: "webhook_secret" },
      },
    },
  },
};
type Loose = Record<string, never>;
/** The same with a change. */
const changed = (change: (copy: typeof full & Loose) => void) => {
  const copy = structuredClone(full) as typeof full & Loose;
  change(copy);
  return builtManifest.parse(copy);
};
const source = (copy: Loose) => (copy as unknown as typeof full).contributes.sources.acme as unknown as Record<string, unknown>;

describe("an upgrade waits for an approval", () => {
  const before = builtManifest.parse(full);
  const set = (of: object, member: string, value: unknown) => Object.assign(of, { [member]: value });
  test.each<[string, (copy: Loose) => void, RegExp]>([
    ["that drops secrets.token.inject", (copy) => set(copy, "secrets", { token: { title: "T" } }), /token, now readable/],
    ["that drops the secret and keeps the setting", (copy) => set(copy, "secrets", {}), /token, now readable by the plugin as a/],
    [
      "that drops the secret and reads it in a connection",
      (copy) => {
        set(copy, "secrets", {});
        set(copy, "config", { type: "object" });
        set(source(copy), "connection", { type: "object", properties: { token: { type: "string" } } });
      },
      /token, now readable/,
    ],
    [
      "that injects the secret in another format",
      (copy) => set((copy as unknown as typeof full).secrets.token.inject, "format", "{}"),
      /token, now put by the host/,
    ],
    ["that drops the signature", (copy) => set(source(copy), "signature", undefined), /the plugin alone checks its webhooks/],
    [
      "that checks another header",
      (copy) => set(source(copy), "signature", { type: "hmac-sha256", header: "x-other", secret: "webhook_secret" }),
      /x-other/,
    ],
    [
      "that compares a token in place of a signature",
      (copy) => set(source(copy), "signature", { type: "token", header: "x-acme-signature", secret: "webhook_secret" }),
      /now the host checks token/,
    ],
    [
      "that no longer requires the webhook's secret",
      (copy) => set(source(copy), "required", []),
      /no longer requires the setting/,
    ],
    ["that no longer keeps a setting secret", (copy) => set(source(copy), "secrets", []), /no longer kept secret/],
    [
      "with a URL as the default of a connection",
      (copy) =>
        set(source(copy), "connection", {
          type: "object",
          properties: { url: { type: "string", default: "http://127.0.0.1:8000" }, webhook_secret: { type: "string" } },
        }),
      /http:\/\/127\.0\.0\.1:8000/,
    ],
    [
      "with a URL as a constant of its settings",
      (copy) =>
        set(copy, "config", {
          type: "object",
          properties: { token: { type: "string" }, at: { const: "https://evil.example/" } },
        }),
      /https:\/\/evil\.example/,
    ],
    [
      "with another setting",
      (copy) =>
        set(copy, "config", { type: "object", properties: { token: { type: "string" }, corp_token: { type: "string" } } }),
      /setting: corp_token/,
    ],
    [
      "with another source",
      (copy) => set((copy as unknown as typeof full).contributes.sources, "other", { ...source(copy) }),
      /source: other/,
    ],
    [
      "with another tool that reads",
      (copy) => set((copy as unknown as typeof full).contributes.tools, "spy", toolOf("Looks on.")),
      /tool: spy, which reads/,
    ],
    [
      "with a knowledge connector",
      (copy) =>
        set((copy as unknown as typeof full).contributes, "knowledge", {
          k: { about: "K.", config: { type: "object" }, secrets: [] },
        }),
      /knowledge connector: k/,
    ],
    [
      "with a use case",
      (copy) => set((copy as unknown as typeof full).contributes, "useCases", { u: { about: "U." } }),
      /use case: u/,
    ],
    ["with higher limits", (copy) => set(copy, "limits", { memory_mb: 512 }), /limit: memory/],
  ])("%s", (_, change, says) => {
    expect(permissionDiff(before, changed(change)).join("\n")).toMatch(says);
  });
  test("but not if nothing changed, or it asks for less", () => {
    expect(
      permissionDiff(
        before,
        changed(() => {}),
      ),
    ).toEqual([]);
    expect(
      permissionDiff(
        before,
        changed((copy) => set((copy as unknown as typeof full).contributes, "tools", {})),
      ),
    ).toEqual([]);
    expect(
      permissionDiff(
        changed((copy) => set(source(copy), "signature", undefined)),
        before,
      ),
    ).toEqual([]);
  });
});

describe("no manifest may", () => {
  const { version: _, bundle: __, config: ___, contributes: ____, ...authored } = full;
  test.each(["host", "content-length", "connection", "x-forwarded-for", "proxy-authorization"])(
    "inject a secret as %s",
    (name) => {
      const secrets = { token: { title: "T", inject: { ...full.secrets.token.inject, name } } };
      expect(manifestSchema.safeParse({ ...authored, secrets }).error?.issues[0]?.message).toMatch(/header of the connection/);
    },
  );
  test.each([
    "keys.create",
    "keys.revoke",
    "plugins.approve",
    "plugins.configure",
    "integrations.create",
    "mcp-servers.create",
    "audit-log.list",
    "audit.verify",
  ])("ask for the operation %s", (id) => {
    const asking = {
      ...authored,
      needs: ["fetch", "operations"],
      permissions: { operations: [{ id, why: "w" }] },
      secrets: {},
    };
    expect(manifestSchema.safeParse(asking).error?.issues[0]?.message).toMatch(/no plugin may call/);
  });
});
