import { Problem } from "@signalbox/schema/problem";
import type { VerificationResult } from "@signalbox/sdk";
import type { SentRequest } from "../platform/webhook-auth.ts";
import type { Connection } from "../plugins/connections.ts";

/** A webhook whose body has not been read. */
export type WebhookHead = Omit<SentRequest, "body">;

/** Stands for a body that has not been read: whoever looks into it fails. */
const unread = new Proxy(new Uint8Array(0), {
  get: () => {
    throw new Error("the body has not been read");
  },
});

export const withoutBody = (head: WebhookHead): SentRequest => ({ ...head, body: unread });

/** Runs a check without the body. Its problem counts; any other failure means that it needs the body. */
export async function judgedByHead<T>(check: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof Problem) throw error;
    return undefined;
  }
}

const checked = new WeakMap<Connection, boolean>();

/** Whether the webhooks of a connection need a proof. One of a sandboxed source that declares no signature counts as without. */
export async function needsProof(connection: Connection): Promise<boolean> {
  const known = checked.get(connection);
  if (known !== undefined) return known;
  const { source, settings } = connection;
  const seen = !source.sandboxed || source.source.signature !== undefined;
  const bare = { headers: {}, body: unread };
  const verdict = seen ? await judgedByHead<VerificationResult>(() => source.source.verify(bare, settings)) : { ok: true };
  const needed = verdict?.ok !== true;
  checked.set(connection, needed);
  return needed;
}

/**
 * The connection by which the webhooks of another are verified. An integration without a secret of its own takes those that
 * its source's environment vouches for: otherwise it would let in what the source refuses.
 */
export async function verifierOf(connection: Connection, environment: (source: string) => Connection | undefined) {
  if (connection.id === "environment" || (await needsProof(connection))) return connection;
  const fallback = environment(connection.source.name);
  return fallback && (await needsProof(fallback)) ? fallback : connection;
}
