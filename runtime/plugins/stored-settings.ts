import { problem } from "@signalbox/schema/problem";
import { PluginError } from "@signalbox/sdk";
import { causeOf } from "../platform/error-text.ts";
import type { Vault } from "../platform/vault.ts";
import type { PluginRow } from "./queries.ts";

/** The encryption context of a plugin's stored settings. */
export const settingsPurpose = (id: string): string => `plugin ${id}`;

/** The settings of a plugin in the database. Throws a `PluginError` if they cannot be decrypted. */
export async function storedSettings(
  row: Pick<PluginRow, "id" | "settings"> | undefined,
  vault: Vault,
): Promise<Record<string, string>> {
  if (!row || row.settings === null) return {};
  try {
    return (await vault.open(row.settings, settingsPurpose(row.id))) as Record<string, string>;
  } catch (error) {
    throw new PluginError("not_configured", `The stored settings of ${row.id} cannot be decrypted: ${causeOf(error)}`);
  }
}

/** A handler for `catch` of a request that needs the stored settings: the same error as a conflict (409), with what to do. */
export function throwAsConflict(error: PluginError): never {
  const cure = "Add the key that encrypted them to ENCRYPTION_KEY, or remove the plugin and install it again";
  throw problem("wrong_state", `${error.message}. ${cure}.`);
}
