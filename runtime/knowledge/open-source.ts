import { firstProblem } from "../platform/issue-text.ts";
import type { Vault } from "../platform/vault.ts";
import type { KnowledgeEntry } from "../plugins/host.ts";
import type { OpenSource } from "./ingest.ts";
import type { StoredSource } from "./queries.ts";

/** Encryption context of a source's secrets. */
export const purposeOf = (id: string): string => `knowledge ${id}`;

/** The settings of a source including secrets. Throws an Error with the reason and without any value. */
export async function settingsOf(row: Pick<StoredSource, "id" | "config" | "secrets">, vault: Vault) {
  const secrets = row.secrets === null ? {} : ((await vault.open(row.secrets, purposeOf(row.id))) as Record<string, unknown>);
  return { ...row.config, ...secrets };
}

/** Opens a stored source. Throws an Error with the reason if it cannot be opened. */
export async function openSource(
  row: StoredSource,
  { vault, knowledge }: { vault: Vault; knowledge: ReadonlyMap<string, KnowledgeEntry> },
): Promise<OpenSource & { readonly plugin: string; readonly secretValues: readonly string[] }> {
  const entry = knowledge.get(row.type);
  if (!entry) throw new Error(`no loaded plugin provides the connector ${row.type}`);
  const rawSettings = await settingsOf(row, vault).catch((error) => {
    throw new Error(`its secrets cannot be decrypted: ${error.message}`, { cause: error });
  });
  const parsed = entry.knowledge.config.safeParse(rawSettings);
  if (!parsed.success) {
    const { path, text } = firstProblem(parsed.error);
    throw new Error(`its config.${path} is no longer valid: ${text}`);
  }
  const settings = parsed.data as Record<string, unknown>;
  const secretValues = row.secret_members.flatMap((name) =>
    typeof rawSettings[name] === "string" ? [rawSettings[name] as string] : [],
  );
  return { knowledge: entry.knowledge, plugin: entry.plugin, settings, secretValues };
}
