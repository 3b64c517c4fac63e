import { randomBytes } from "node:crypto";
import { problem } from "@signalbox/schema/problem";
import type { Queryable } from "../platform/database/client.ts";
import type { Vault } from "../platform/vault.ts";
import type { CredentialDeps } from "./credentials.ts";
import * as queries from "./queries.ts";
import { purposeOf } from "./store.ts";

interface RotatedSecret {
  readonly row: queries.StoredIntegration;
  /** The generated secret; `null` if the caller passed one. */
  readonly generatedSecret: string | null;
}

/**
 * Replaces an integration's webhook secret. The old one becomes the previous secret, which is also accepted until an update omits
 * it. Returns `undefined` if the integration has been changed or deleted since it was read.
 */
export async function rotateSecret(
  sql: Queryable,
  storedIntegration: queries.StoredIntegration,
  newSecret: string | undefined,
  { vault, sources }: Pick<CredentialDeps, "sources"> & { readonly vault: Vault },
): Promise<RotatedSecret | undefined> {
  const name = sources().get(storedIntegration.source)?.adapter.signature?.secret ?? "webhook_secret";
  const storedCredentials = (await vault.open(storedIntegration.credentials, purposeOf(storedIntegration.id)).catch(() => {
    throw problem("wrong_state", "The stored credentials cannot be decrypted; update the integration with all of them.");
  })) as Record<string, unknown>;
  const generatedSecret = newSecret === undefined ? randomBytes(32).toString("base64url") : null;
  const secret = newSecret ?? generatedSecret;
  if (storedCredentials[name] === secret) throw problem("wrong_state", "webhook_secret: is the same as the stored secret");
  const { [`${name}_previous`]: _, ...others } = storedCredentials;
  const credentials = {
    ...others,
    [name]: secret,
    ...(storedCredentials[name] !== undefined && { [`${name}_previous`]: storedCredentials[name] }),
  };
  const sealed = await vault.seal(credentials, purposeOf(storedIntegration.id));
  const changes = { credentials: sealed, members: Object.keys(credentials) };
  const row = await queries.updateIntegration(sql, storedIntegration, changes);
  if (!row) return undefined;
  await queries.deletePreviousUse(sql, storedIntegration.id);
  return { row, generatedSecret };
}
