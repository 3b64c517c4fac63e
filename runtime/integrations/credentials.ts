import type * as integrations from "@signalbox/schema/integrations";
import type { Input } from "@signalbox/schema/operation";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { Guard } from "../platform/network/guard.ts";
import { mask } from "../platform/settings.ts";
import type { Vault } from "../platform/vault.ts";
import { checkSettings } from "../plugins/check-settings.ts";
import type { Connection } from "../plugins/connections.ts";
import type { SourceEntry } from "../plugins/host.ts";
import { addressesIn, changedHost } from "../plugins/settings-hosts.ts";
import type { StoredIntegration } from "./queries.ts";
import { purposeOf } from "./store.ts";

type Credentials = Input<typeof integrations.create>["credentials"];

export interface CredentialDeps {
  readonly guard: Pick<Guard, "check">;
  readonly sources: () => ReadonlyMap<string, SourceEntry>;
  /** The connection that the environment configures. */
  readonly environment: (source: string) => Connection | undefined;
}

/**
 * Validates credentials against the schema of the source's own plugin. Errors contain no value. Missing members are allowed,
 * because they may be set later.
 */
export async function checkCredentials(source: string, credentials: Credentials, deps: CredentialDeps): Promise<void> {
  const entry = deps.sources().get(source);
  if (!entry) {
    const loaded = [...deps.sources().keys()].join(", ") || "none";
    throw fieldProblem("source", `no loaded plugin provides a source with this name; available: ${loaded}`);
  }
  const empty = Object.keys(credentials).find((name) => credentials[name] === mask);
  if (empty !== undefined) throw fieldProblem(`credentials.${empty}`, "is the mask of a value; send the value itself");
  await checkSettings(credentials, {
    field: "credentials",
    owner: source,
    guard: deps.guard,
    schema: entry.adapter.connection,
    others: true,
  });
}

/**
 * The credentials that are missing before the source can post: required ones that are not stored, except an address that the
 * environment sets.
 */
export function missingCredentials(row: Pick<StoredIntegration, "source" | "members">, deps: CredentialDeps): string[] {
  const addresses = addressesIn(deps.environment(row.source)?.settings ?? {});
  const required = deps.sources().get(row.source)?.adapter.required ?? [];
  return required.filter((name) => !row.members.includes(name) && addresses[name] === undefined);
}

/**
 * Replaces masks that a client sent back by the stored values, so that a client can send back a whole response. Does not if an
 * address now names another server, which would receive the value.
 */
export async function restoreMasked(before: StoredIntegration, credentials: Credentials, vault: Vault): Promise<Credentials> {
  const maskedNames = Object.keys(credentials).filter((name) => credentials[name] === mask && before.members.includes(name));
  if (maskedNames.length === 0) return credentials;
  const stored = (await vault.open(before.credentials, purposeOf(before.id)).catch(() => {
    throw problem("unavailable", "The stored credentials cannot be decrypted; send all of them again.");
  })) as Credentials;
  const after = { ...credentials, ...Object.fromEntries(maskedNames.map((name) => [name, stored[name]])) } as Credentials;
  const newHostMember = changedHost(stored, after);
  if (newHostMember === undefined) return after;
  throw fieldProblem(
    `credentials.${maskedNames[0]}`,
    `must be sent again, because credentials.${newHostMember} points to another server`,
  );
}
