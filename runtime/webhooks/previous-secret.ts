import type { VerificationResult, WebhookRequest } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { type Connection, slugOf } from "../plugins/connections.ts";
import { savePreviousUse } from "./refusal-queries.ts";

/** Interval at which the time of a use is stored, in milliseconds. */
const everyMs = 60_000;

/** The setting that contains a connection's webhook secret. */
const secretOf = ({ source }: Connection): string => source.adapter.signature?.secret ?? "webhook_secret";

/** The second secret of a connection, which is accepted while the first one is being replaced; `null` if it names none. */
export const previousSecretOf = (connection: Connection): string | null => {
  const previous = connection.rawSettings[`${secretOf(connection)}_previous`];
  return typeof previous === "string" && previous !== "" ? previous : null;
};

const previousConnections = new WeakMap<Connection, Connection>();
/** The connections that `withPreviousSecret` returned. */
const withPrevious = new WeakSet<Connection>();

/** The connection as it was before its secret was replaced; `null` if it names no second secret. */
export function withPreviousSecret(connection: Connection): Connection | null {
  const previous = previousSecretOf(connection);
  if (previous === null) return null;
  const known = previousConnections.get(connection);
  if (known) return known;
  const settings = { ...connection.settings, [secretOf(connection)]: previous };
  const previousConnection = Object.freeze({ ...connection, settings });
  previousConnections.set(connection, previousConnection);
  withPrevious.add(previousConnection);
  return previousConnection;
}

type Check<R> = (connection: Connection, request: R) => Promise<VerificationResult | undefined>;

export interface PreviousSecrets {
  /**
   * Runs a check. If it fails and there is a previous secret, runs it again with that one. Returns `undefined` if the check needs
   * the body.
   */
  verify<R extends WebhookRequest>(connection: Connection, request: R, check: Check<R>): Promise<VerificationResult | undefined>;
}

/** Accepts previous secrets, and stores when each was last used. */
export function createPreviousSecrets(sql: Sql, log: Pick<Log, "warn">): PreviousSecrets {
  const notedAt = new Map<string, number>();
  // Awaited, so that a status check right after the webhook shows the use.
  const note = async (connection: Connection) => {
    const key = slugOf(connection);
    if (performance.now() - (notedAt.get(key) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    notedAt.set(key, performance.now());
    await savePreviousUse(sql, key).catch((error) => log.warn("failed to store the use of a previous secret", { error }));
  };
  return {
    verify: async (connection, request, check) => {
      const verdict = await check(connection, request);
      if (verdict?.ok && withPrevious.has(connection)) await note(connection);
      const previous = withPreviousSecret(connection);
      if (verdict?.ok !== false || previous === null) return verdict;
      const second = await check(previous, request);
      if (second?.ok) await note(connection);
      // The sender gets the reason of the check with the current secret.
      return second?.ok === false ? verdict : second;
    },
  };
}
