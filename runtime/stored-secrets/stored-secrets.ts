import type { Bus } from "../platform/bus.ts";
import { openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import type { Vault } from "../platform/vault.ts";
import { listStoredAddresses, listStoredSecrets, type StoredAddress, type StoredSecret } from "./queries.ts";

/** A decrypted value. */
export interface OpenedSecret extends Pick<StoredSecret, "kind" | "name"> {
  /** The member that contains it; `null` if there is only one value. */
  readonly member: string | null;
  readonly value: string;
}

interface StoredSecrets {
  /** All decrypted values. The same array while none changes. */
  all(): readonly OpenedSecret[];
  /** The addresses of tools and MCP servers. The same array while none changes. */
  addresses(): readonly StoredAddress[];
  close(): void;
}

interface StoredSecretsOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly vault: Vault;
}

/**
 * Keeps all stored secrets, and addresses that may contain one, in memory to recognise them in texts. A secret that cannot be
 * decrypted cannot be recognised.
 */
export async function openStoredSecrets({ sql, bus, log, vault }: StoredSecretsOptions): Promise<StoredSecrets> {
  let openedSecrets: readonly OpenedSecret[] = [];
  let addresses: readonly StoredAddress[] = [];
  let secretsByCiphertext = new Map<string, readonly OpenedSecret[]>();
  const open = async ({ kind, name, ciphertext, purpose }: StoredSecret): Promise<readonly OpenedSecret[]> =>
    secretsByCiphertext.get(ciphertext) ??
    valuesOf(await vault.open(ciphertext, purpose).catch(() => null)).map((one) => ({ kind, name, ...one }));
  const read = async () => {
    const [rows, named] = await Promise.all([listStoredSecrets(sql), listStoredAddresses(sql)]);
    if (JSON.stringify(named) !== JSON.stringify(addresses)) addresses = named;
    const found = new Map<string, readonly OpenedSecret[]>();
    for (const row of rows) found.set(row.ciphertext, await open(row));
    const isSame =
      found.size === secretsByCiphertext.size && [...found.keys()].every((sealed) => secretsByCiphertext.has(sealed));
    secretsByCiphertext = found;
    if (!isSame) openedSecrets = [...found.values()].flat();
  };
  const topic = ["integrations", "mappings", "secrets", "tools"] as const;
  const cached = await openCachedValue({ name: "stored secrets", topic, read, bus, log });
  return { all: () => openedSecrets, addresses: () => addresses, close: () => cached.close() };
}

/** The texts in a decrypted value: the value itself, or its members. */
function valuesOf(value: unknown): { member: string | null; value: string }[] {
  if (typeof value === "string") return [{ member: null, value }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([member, one]) => valuesOf(one).map((text) => ({ ...text, member })));
}
