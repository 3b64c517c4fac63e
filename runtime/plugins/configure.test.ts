import { expect, test, vi } from "vitest";
import { createVault } from "../platform/vault.ts";
import { configure } from "./configure.ts";
import { settingsPurpose, storedSettings, throwAsConflict } from "./stored-settings.ts";

const [before, after] = [createVault(["a".repeat(64)]), createVault(["b".repeat(64)])];

test("settings that cannot be decrypted are a conflict, and no change overwrites them", async () => {
  const settings = await before.seal({ token: "t" }, settingsPurpose("acme"));
  expect(await storedSettings({ id: "acme", settings }, before)).toEqual({ token: "t" });
  expect(await storedSettings({ id: "acme", settings: null }, after)).toEqual({});
  const refusal = {
    code: "conflict",
    message: expect.stringContaining("The stored settings of acme cannot be decrypted: it was encrypted with a key"),
  };
  await expect(storedSettings({ id: "acme", settings }, after).catch(throwAsConflict)).rejects.toMatchObject(refusal);
  const sql = vi.fn(async () => [{ id: "acme", settings }]);
  const deps = { vault: after, environment: () => ({}), manager: {} as never };
  await expect(configure("acme", {}, [], sql as never, deps)).rejects.toMatchObject(refusal);
  expect(sql).toHaveBeenCalledOnce();
});
