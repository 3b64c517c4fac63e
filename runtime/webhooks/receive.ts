import { problem } from "@signalbox/schema/problem";
import type { Json, SourceEvent, WebhookRequest } from "@signalbox/sdk";
import { newId } from "../platform/ids.ts";
import type { SentRequest } from "../platform/webhook-auth.ts";
import { type Connection, slugOf } from "../plugins/connections.ts";
import {
  checkWithoutBody,
  neededBodyBefore,
  needsProof,
  verifierOf,
  verifyWithoutBody,
  type WebhookHead,
  withoutBody,
} from "./admit.ts";
import type { Receipt } from "./dispatch.ts";
import type { IncomingEvent } from "./incoming-event.ts";
import { authenticate, type MappingRule } from "./mapping-rules.ts";
import { parseByPath, parseBySource, unreadableEvent } from "./parse.ts";
import { callSandboxed, PluginUnavailable } from "./plugin-unavailable.ts";
import type {
  Admitted,
  DeliveryContext,
  Entry,
  ReceivedWebhook,
  Receiver,
  ReceiverOptions,
  UnreadableWebhook,
} from "./receiver.ts";
import { replayScopes } from "./replay-scope.ts";
import { extensionHeaders, type RecordedHeaders, recordReads, withoutSecrets } from "./stored-headers.ts";

/** Timeout of a reaction. */
const reactionMs = 30_000;

export const createReceiver = (options: ReceiverOptions): Receiver => new WebhookReceiver(options);

class WebhookReceiver implements Receiver {
  readonly #options: ReceiverOptions;

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  async entry(slug: string): Promise<Entry | undefined> {
    const connection = await this.#options.connections.bySlug(slug);
    if (connection) return { kind: "connection", connection };
    const rules = this.#options.rules.atPath(`/webhook/${slug}`);
    return rules.length > 0 ? { kind: "path", rules } : undefined;
  }

  async admit(slug: string, head: WebhookHead): Promise<Admitted> {
    const entry = await this.entry(slug);
    if (!entry) throw problem("not_found", `There is no webhook "${slug.slice(0, 100)}".`);
    if (entry.kind === "path") {
      await checkWithoutBody(() => this.#authenticated(entry.rules, slug, withoutBody(head)));
      return { entry, needsProof: entry.rules.some(({ check }) => check !== null) };
    }
    const verifier = await verifierOf(entry.connection, this.#options.connections.environment);
    if (!(await needsProof(verifier))) return { entry, needsProof: false };
    if (neededBodyBefore(verifier, head.headers)) return { entry, needsProof: true };
    const verdict = await this.#options.previousSecrets.verify(verifier, withoutBody(head), verifyWithoutBody);
    if (verdict?.ok === false) throw this.#refusal(verifier.source.name, slug, verdict.reason);
    return { entry, needsProof: true };
  }

  async verify(entry: Entry, slug: string, request: SentRequest): Promise<Entry> {
    if (entry.kind === "path") return { kind: "path", rules: this.#authenticated(entry.rules, slug, request) };
    const verifier = await verifierOf(entry.connection, this.#options.connections.environment);
    const verdict = await this.#options.previousSecrets.verify(verifier, request, verifyBySource);
    if (verdict?.ok !== true)
      throw this.#refusal(entry.connection.source.name, slug, verdict?.reason ?? "it could not be verified");
    return entry;
  }

  async noteRefusal({ slug, isKnown, head, reason }: Parameters<Receiver["noteRefusal"]>[0]): Promise<void> {
    const entry = isKnown ? await this.entry(slug).catch(() => undefined) : undefined;
    const source = entry?.kind === "path" ? entry.rules[0]?.source : entry?.connection.source.name;
    this.#options.refusals.add({ source: source ?? "unknown", slug, headers: head.headers, reason });
  }

  readonly refusalsStored = (): Promise<void> => this.#options.refusals.whenStored();

  async accept(
    entry: Entry,
    path: string,
    request: ReceivedWebhook,
    payload: Json,
    context: DeliveryContext = {},
  ): Promise<Receipt> {
    // The id of an integration can be sent in capital letters. Its deliveries are the same.
    const slug = entry.kind === "connection" ? slugOf(entry.connection) : path;
    const parse = () => this.#parseAndDispatch(entry, slug, request, payload, context);
    if (entry.kind === "path" || context.deferred || !entry.connection.source.sandboxed) return parse();
    const { plugin } = entry.connection.source;
    if (await this.#options.deferred.isWaiting({ plugin, slug })) return this.#defer(entry.connection, slug, request, context);
    try {
      return await parse();
    } catch (error) {
      if (!(error instanceof PluginUnavailable)) throw error;
      return this.#defer(entry.connection, slug, request, context);
    }
  }

  async storeUnreadable({ id, source, slug, headers, body }: UnreadableWebhook, reason: string): Promise<void> {
    const { dispatcher } = this.#options;
    const event = { event: unreadableEvent, accounts: [], reason };
    await dispatcher.accept({ id, source, slug, headers: extensionHeaders(headers), body, ...event });
  }

  async #parseAndDispatch(
    entry: Entry,
    slug: string,
    request: ReceivedWebhook,
    payload: Json,
    { deferred, ...context }: DeliveryContext,
  ): Promise<Receipt> {
    const { rules, dispatcher } = this.#options;
    const { headers, body } = request;
    const scopes = deferred?.scopes ?? (await this.#scopesOf(entry, slug, request));
    const recorded = recordReads(headers);
    const seenHeaders = entry.kind === "connection" && entry.connection.source.sandboxed ? headers : recorded.headers;
    const parsed =
      entry.kind === "path"
        ? await parseByPath(entry.rules, body, this.#options)
        : await parseBySource(
            entry.connection,
            { headers: seenHeaders, payload },
            { ...this.#options, last: deferred?.last ?? false },
          );
    const { source, event } = parsed;
    const all = rules.rulesFor(source, event.event_name, event.action);
    const eventRules = deferred
      ? all.filter(({ id, check }) => check === null || deferred.proven.includes(id))
      : this.#authenticated(all, slug, request);
    const unauthenticated = eventRules.length === 0 && all.length > 0;
    return dispatcher.accept({
      ...parsed,
      slug,
      payload,
      viaPath: entry.kind === "path",
      accounts: event.actor === null ? [] : await this.#options.accounts.ofSource(source),
      headers: withoutSecrets(
        storedHeaders(entry, headers, recorded),
        (name) => !all.some(({ authHeader }) => authHeader === name),
      ),
      body,
      traceparent: headers.traceparent ?? null,
      ...(entry.kind === "connection" && this.#replies(entry.connection, event)),
      replayScopes: scopes,
      ...(eventRules.length > 0 && { matching: () => rules.matching(eventRules, body) }),
      ...(unauthenticated && { reason: "authentication failed for every matching webhook mapping" }),
      ...(deferred && { id: deferred.id, inOrder: deferred.inOrder }),
      ...context,
    });
  }

  /** The calls to the tracker that the dispatch of an event may make. */
  #replies(connection: Connection, event: SourceEvent): Pick<IncomingEvent, "acknowledge" | "findStanding"> {
    const { author, subject } = event;
    return {
      acknowledge: (isDone) => this.#react(connection, event, isDone),
      ...(author &&
        subject &&
        connection.source.adapter.standing && {
          findStanding: () => this.#options.standings.find(connection, subject.project, author),
        }),
    };
  }

  /** Adds a reaction. A failure is only logged. */
  #react(connection: Connection, { subject, comment = null }: SourceEvent, isDone: boolean): void {
    const { log, trackerUpdates } = this.#options;
    const { react } = connection.source.adapter;
    if (!react || subject === null || !trackerUpdates || connection.missingSettings.length > 0) return;
    const call = { signal: AbortSignal.timeout(reactionMs), connection: connection.settings, key: newId() };
    const failed = (error: unknown) => log.warn("failed to acknowledge a command", { subject, error });
    react.call(connection.source.adapter, { subject, comment }, isDone ? "done" : "failed", call).catch(failed);
  }

  /** Stores a webhook whose plugin cannot parse it now. Its event is created when the plugin is available again. */
  async #defer(connection: Connection, slug: string, request: ReceivedWebhook, context: DeliveryContext): Promise<Receipt> {
    const { deferred, rules } = this.#options;
    const { plugin, name: source } = connection.source;
    const credentials = rules.ofSource(source).map(({ authHeader }) => authHeader);
    const headers = withoutSecrets(request.headers, (name) => !credentials.includes(name));
    const event_id = await deferred.add({
      plugin,
      slug,
      source,
      body: request.body,
      headers: JSON.stringify(headers),
      context: JSON.stringify({
        ...context,
        id: undefined,
        proven: provenIds(rules.ofSource(source), request),
        scopes: await this.#scopesOf({ kind: "connection", connection }, slug, request),
      }),
    });
    return { event_id, status: "accepted" };
  }

  /** The names under which its body counts as received; none if no secret or signature was checked. */
  async #scopesOf(entry: Entry, slug: string, { signed }: ReceivedWebhook): Promise<readonly string[]> {
    return signed && this.#options.refusesCopies ? replayScopes(entry, slug, this.#options.connections) : [];
  }

  /** The rules for which a webhook authenticates. */
  #authenticated<R extends MappingRule>(rules: readonly R[], slug: string, request: ReceivedWebhook): readonly R[] {
    const { address, sent = request.body } = request;
    if (rules.length === 0 || !address) return rules;
    const verdict = authenticate(rules, { ...request, body: sent, address });
    if (!verdict.ok) throw this.#refusal(rules[0]?.source ?? slug, slug, verdict.reason);
    return verdict.rules;
  }

  #refusal(source: string, slug: string, reason: string) {
    this.#options.warn("webhook refused", { source, slug, reason });
    return problem("unauthenticated", `The webhook was refused: ${reason}`);
  }
}

/** The headers that the reader of a webhook used; mappings by path read none. */
function storedHeaders(entry: Entry, headers: Readonly<Record<string, string>>, recorded: RecordedHeaders) {
  if (entry.kind === "path") return {};
  const { sandboxed, adapter: source } = entry.connection.source;
  return sandboxed ? extensionHeaders(headers, source.signature?.header) : recorded.read();
}

/** Lets the source verify the webhook. Fails if its plugin is unavailable and declares no `signature`. */
async function verifyBySource({ source, settings }: Connection, request: WebhookRequest) {
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

/** Ids of the rules for which a webhook authenticates. They are stored in place of the credential. */
function provenIds(rules: readonly MappingRule[], request: ReceivedWebhook): number[] {
  const { address, sent = request.body } = request;
  if (!address) return rules.map(({ id }) => id);
  return rules.filter(({ check }) => check?.({ ...request, body: sent, address }).ok).map(({ id }) => id);
}
