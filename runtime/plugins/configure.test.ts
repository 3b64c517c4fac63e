import type { BuiltManifest } from "@signalbox/sdk/manifest";
import { expect, test, vi } from "vitest";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { createVault } from "../platform/vault.ts";
import { configure } from "./configure.ts";
import { findPlugin, findVersions, insertVersion, setEnabled, useVersion } from "./queries.ts";
import { settingsPurpose, storedSettings, throwAsConflict } from "./stored-settings.ts";

const database = useTestDatabase();
const [before, after] = [createVault(["a".repeat(64)]), createVault(["b".repeat(64)])];

test("settings that cannot be decrypted are a conflict, and no change overwrites them", async () => {
  const settings = await before.seal({ token: "t" }, settingsPurpose("acme"));
  expect(await storedSettings({ id: "acme", settings }, before)).toEqual({ token: "t" });
  expect(await storedSettings({ id: "acme", settings: null }, after)).toEqual({});
  const refusal = {
    code: "wrong_state",
    message: expect.stringContaining("The stored settings of acme cannot be decrypted: it was encrypted with a key"),
  };
  await expect(storedSettings({ id: "acme", settings }, after).catch(throwAsConflict)).rejects.toMatchObject(refusal);
  const sql = vi.fn(async () => [{ id: "acme", settings }]);
  const deps = { vault: after, environment: () => ({}), manager: {} as never };
  await expect(configure("acme", {}, [], sql as never, deps)).rejects.toMatchObject(refusal);
  expect(sql).toHaveBeenCalledOnce();
});

test("of two changes at the same time, the second is refused instead of discarding the first", {
  tags: ["postgres"],
}, async () => {
  const { sql } = database();
  const config = { type: "object", properties: { one: { type: "string" }, two: { type: "string" } } };
  const built = { id: "acme", version: "1.0.0", config, secrets: {}, contributes: { sources: {} }, bundle: { sha256: "" } };
  const manifest = built as unknown as BuiltManifest;
  const row = { sha256: "", bundle: new Uint8Array(1), origin: null, integrity: null, publisher: null };
  await insertVersion(sql, manifest, { ...row, manifest: JSON.stringify(manifest) });
  await useVersion(sql, "acme", "1.0.0");
  await setEnabled(sql, "acme", true);
  const versions = await findVersions(sql, "acme");
  const trial = Promise.withResolvers<void>();
  const onTrial = vi.fn(() => trial.promise);
  const manager = { runningPlugin: () => undefined, trial: onTrial };
  const deps = { vault: after, environment: () => ({}), manager };
  const change = (settings: Record<string, string>) => configure("acme", settings, versions, sql, deps);
  const changes = [change({ one: "1" }), change({ two: "2" })];
  await vi.waitFor(() => expect(onTrial).toHaveBeenCalledTimes(2), { timeout: 10_000 });
  trial.resolve();
  const results = await Promise.allSettled(changes);
  const refused = results.findIndex(({ status }) => status === "rejected");
  expect(results[refused]).toMatchObject({
    reason: { code: "changed_meanwhile", message: expect.stringContaining("changed the settings of acme") },
  });
  await change(refused === 0 ? { one: "1" } : { two: "2" });
  expect(await storedSettings(await findPlugin(sql, "acme"), after)).toEqual({ one: "1", two: "2" });
});
