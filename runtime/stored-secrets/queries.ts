import type { Queryable } from "../platform/database/client.ts";

/** One value that the vault has encrypted. */
export interface StoredSecret {
  readonly kind: "integration" | "webhook mapping" | "knowledge source" | "plugin";
  readonly id: string;
  /** The name of its owner, as operators know it. */
  readonly name: string;
  readonly ciphertext: string;
  /** The context with which it was encrypted. */
  readonly purpose: string;
}

/**
 * Everything that the vault has encrypted. A table that stores more encrypted values must be added here: by this list, they are
 * re-encrypted with a new key, and redacted in texts.
 */
export const listStoredSecrets = (sql: Queryable): Promise<StoredSecret[]> =>
  sql<StoredSecret[]>`
    select 'integration' as kind, id::text as id, name, credentials as ciphertext, 'integration ' || id as purpose from integrations
    union all select 'webhook mapping', id::text, id::text, secret, 'webhook_mapping' from webhook_mappings where secret is not null
    union all select 'knowledge source', id::text, name, secrets, 'knowledge ' || id from knowledge_sources where secrets is not null
    union all select 'plugin', id, id, settings, 'plugin ' || id from plugins where settings is not null`;

/** An address that is stored unencrypted, although it may contain a secret. */
export interface StoredAddress {
  /** The name of its owner, as operators know it. */
  readonly owner: string;
  readonly url: string;
}

export const listStoredAddresses = (sql: Queryable): Promise<StoredAddress[]> =>
  sql<StoredAddress[]>`
    select 'the tool ' || provider || '.' || name as owner, endpoint as url from tools where endpoint is not null
    union all select 'the MCP server ' || name, url from mcp_servers
    order by owner`;

/** Replaces an encrypted value by the same value encrypted with another key. `false` if it was changed meanwhile. */
export async function replaceStoredSecret(
  sql: Queryable,
  { kind, id, ciphertext }: StoredSecret,
  newCiphertext: string,
): Promise<boolean> {
  const update = {
    integration: () =>
      sql`update integrations set credentials = ${newCiphertext} where id = ${id}::uuid and credentials = ${ciphertext}`,
    "webhook mapping": () =>
      sql`update webhook_mappings set secret = ${newCiphertext} where id = ${id}::text::integer and secret = ${ciphertext}`,
    "knowledge source": () =>
      sql`update knowledge_sources set secrets = ${newCiphertext} where id::text = ${id} and secrets = ${ciphertext}`,
    plugin: () => sql`update plugins set settings = ${newCiphertext} where id = ${id} and settings = ${ciphertext}`,
  };
  return (await update[kind]()).count > 0;
}
