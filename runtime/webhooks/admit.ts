import { Problem, problem } from "@signalbox/schema/problem";
import type { VerificationResult, WebhookRequest } from "@signalbox/sdk";
import type { SentRequest } from "../platform/webhook-auth.ts";
import type { Connection } from "../plugins/connections.ts";
import { callSandboxed, PluginUnavailable } from "./plugin-unavailable.ts";
import { withPreviousSecret } from "./previous-secret.ts";
import { recordReads } from "./stored-headers.ts";

/** A webhook whose body has not been read. */
export type WebhookHead = Omit<SentRequest, "body">;

/** Used in place of a body that has not been read; reading it throws. */
export const unavailableBody = new Proxy(new Uint8Array(0), {
  get: () => {
    throw new Error("the body has not been read");
  },
});

export const withoutBody = (head: WebhookHead): SentRequest => ({ ...head, body: unavailableBody });

/** Runs a check without the body. If it throws a `Problem`, that is the result; any other error means that it needs the body. */
export async function checkWithoutBody<T>(check: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof Problem) throw error;
    return undefined;
  }
}

/** The headers with which a connection's check last needed the body, with the lengths of their values. */
const headersThatNeedBody = new WeakMap<Connection, readonly (readonly [name: string, length: number | undefined])[]>();

/**
 * Whether the check needs the body, because an earlier one with such headers did. Trying it without the body would cost an
 * exception.
 */
export const neededBodyBefore = (connection: Connection, headers: SentRequest["headers"]): boolean =>
  headersThatNeedBody.get(connection)?.every(([name, length]) => headers[name]?.length === length) ?? false;

/** Runs the check of a connection on a request without its body. Returns `undefined` if the check needs the body. */
export async function verifyWithoutBody(connection: Connection, request: SentRequest): Promise<VerificationResult | undefined> {
  const { source, settings } = connection;
  const recordedHeaders = source.sandboxed ? null : recordReads(request.headers);
  const headers = recordedHeaders?.headers ?? request.headers;
  const verdict = await checkWithoutBody<VerificationResult>(() => source.adapter.verify({ ...request, headers }, settings));
  if (verdict === undefined && recordedHeaders)
    headersThatNeedBody.set(
      connection,
      [...recordedHeaders.names].map((name) => [name, request.headers[name]?.length]),
    );
  return verdict;
}

/** Lets the source verify the webhook. Fails if its plugin is unavailable and declares no `signature`. */
export async function verifyBySource({ source, settings }: Connection, request: WebhookRequest): Promise<VerificationResult> {
  if (!source.sandboxed) return source.adapter.verify(request, settings);
  try {
    return await callSandboxed(() => source.adapter.verify(request, settings));
  } catch (error) {
    if (!(error instanceof PluginUnavailable)) throw error;
    throw problem("unavailable", `The plugin ${source.plugin} cannot verify webhooks now: ${error.message}. Send it again.`, {
      retryAfter: 5,
    });
  }
}

const checkedConnections = new WeakMap<Connection, boolean>();

/**
 * Whether the webhooks of a connection need authentication. A sandboxed source that declares no signature counts as needing none.
 */
export async function needsProof(connection: Connection): Promise<boolean> {
  const known = checkedConnections.get(connection);
  if (known !== undefined) return known;
  const { source, settings } = connection;
  const hasCheck = !source.sandboxed || source.adapter.signature !== undefined;
  const bare = { headers: {}, body: unavailableBody };
  const verdict = hasCheck
    ? await checkWithoutBody<VerificationResult>(() => source.adapter.verify(bare, settings))
    : { ok: true };
  const needed = verdict?.ok !== true;
  checkedConnections.set(connection, needed);
  return needed;
}

/**
 * The connection with which the webhooks of another one are verified. If an integration has no webhook secret, that of the
 * environment is used; otherwise it would accept webhooks that the source refuses. If only the previous secret is set, that one is
 * used.
 */
export async function verifierOf(connection: Connection, environment: (source: string) => Connection | undefined) {
  if (await needsProof(connection)) return connection;
  const fallback = connection.id === "environment" ? undefined : environment(connection.source.name);
  if (fallback && (await needsProof(fallback))) return fallback;
  return withPreviousSecret(connection) ?? (fallback && withPreviousSecret(fallback)) ?? connection;
}
