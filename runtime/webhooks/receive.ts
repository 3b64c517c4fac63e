import { problem } from "@signalbox/schema/problem";
import type { Json, WebhookPayload, WebhookRequest } from "@signalbox/sdk";
import type { LargeJson } from "../platform/large-json.ts";
import type { Report } from "../platform/log.ts";
import type { SentRequest } from "../platform/webhook-auth.ts";
import { type Connection, type Connections, slugOf } from "../plugins/connections.ts";
import {
  checkWithoutBody,
  neededBodyBefore,
  needsProof,
  verifierOf,
  verifyBySource,
  verifyWithoutBody,
  type WebhookHead,
  withoutBody,
} from "./admit.ts";
import type { DeferredWebhooks } from "./deferred/defer.ts";
import { writeContext } from "./deferred/stored-context.ts";
import type { Dispatcher, Receipt } from "./dispatch.ts";
import { authenticate, type MappingRule } from "./mapping-rules.ts";
import { type ParseDeps, parseWebhook, unreadableEvent } from "./parse.ts";
import { PluginUnavailable } from "./plugin-unavailable.ts";
import type { PreviousSecrets } from "./previous-secret.ts";
import type { DeliveryContext, Entry, Origin, ReceivedWebhook } from "./received-webhook.ts";
import type { Refusals } from "./refusals.ts";
import { replayScopes } from "./replay-scope.ts";
import { extensionHeaders, recordReads, withoutSecrets } from "./stored-headers.ts";

interface ReceiverOptions extends ParseDeps {
  readonly connections: Pick<Connections, "bySlug" | "environment">;
  readonly dispatcher: Dispatcher;
  readonly deferred: DeferredWebhooks;
  readonly refusals: Refusals;
  readonly previousSecrets: PreviousSecrets;
  readonly json: Pick<LargeJson, "parse">;
  /** Whether a copy of a signed body is a duplicate. */
  readonly refusesCopies: boolean;
  /** Writes a warning to the watchdog. */
  readonly warn: Report;
}

const fromWebhook: DeliveryContext = { origin: { kind: "webhook" } };

/** Receives webhooks, and the events of polls and replays in the same format. */
export class Receiver {
  readonly #options: ReceiverOptions;
  /** Parses the JSON of a webhook's body. A large payload is cut to the same limits whether it arrives, was deferred or is replayed. */
  readonly parseJson: LargeJson["parse"];

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.parseJson = options.json.parse;
  }

  /** The payload of a stored webhook, whose body was valid JSON when it arrived. */
  async storedPayload(body: Uint8Array): Promise<Json> {
    const read = await this.parseJson(body);
    if ("fault" in read) throw new Error("a stored webhook is not valid JSON");
    return read.value as Json;
  }

  /**
   * The target of `/webhook/<slug>`. The slug is the name of a source, the id of an integration, or the path of a webhook
   * mapping.
   */
  async entry(slug: string): Promise<Entry | undefined> {
    const connection = await this.#options.connections.bySlug(slug);
    if (connection) return entryOf(connection);
    const rules = this.#options.rules.atPath(`/webhook/${slug}`);
    return rules.length > 0 ? { kind: "path", slug, rules } : undefined;
  }

  /**
   * Checks a webhook before its body is read. Returns whether it must authenticate. Throws `not_found` or `unauthenticated`; then
   * nothing is stored.
   */
  async admit(slug: string, head: WebhookHead): Promise<{ readonly entry: Entry; readonly needsProof: boolean }> {
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

  /** Authenticates an admitted webhook on its raw bytes. Throws `unauthenticated`; then nothing is stored. */
  async verify(entry: Entry, request: SentRequest): Promise<Entry> {
    if (entry.kind === "path") return { ...entry, rules: this.#authenticated(entry.rules, entry.slug, request) };
    const verifier = await verifierOf(entry.connection, this.#options.connections.environment);
    const verdict = await this.#options.previousSecrets.verify(verifier, request, verifyBySource);
    if (verdict?.ok !== true)
      throw this.#refusal(entry.connection.source.name, entry.slug, verdict?.reason ?? "it could not be verified");
    return entry;
  }

  /** Stores a refused webhook without its body. `entry`: its target; absent if the path does not exist. */
  noteRefusal(slug: string, entry: Entry | undefined, { headers }: WebhookHead, reason: string): void {
    const source = entry?.kind === "path" ? entry.rules[0]?.source : entry?.connection.source.name;
    this.#options.refusals.add({ source: source ?? "unknown", slug, headers, reason });
  }

  /** Resolves once the refusals so far are stored. */
  readonly refusalsStored = (): Promise<void> => this.#options.refusals.whenStored();

  /** Parses and dispatches an authenticated webhook, or a stored one again. Defers it if its plugin is not running. */
  async accept(entry: Entry, request: ReceivedWebhook, payload: Json, context = fromWebhook): Promise<Receipt> {
    const parse = () => this.#parseAndDispatch(entry, request, payload, context);
    if (entry.kind === "path" || context.deferred || !entry.connection.source.sandboxed) return parse();
    const { plugin } = entry.connection.source;
    if (await this.#options.deferred.isWaiting({ plugin, slug: entry.slug }))
      return this.#defer(entry, entry.connection, request, context.origin);
    try {
      return await parse();
    } catch (error) {
      if (!(error instanceof PluginUnavailable)) throw error;
      return this.#defer(entry, entry.connection, request, context.origin);
    }
  }

  /** The same for an event that did not arrive as a webhook, but has its format. */
  acceptEvent(connection: Connection, { headers, payload }: WebhookPayload, origin: Origin): Promise<Receipt> {
    const body = new TextEncoder().encode(JSON.stringify(payload));
    return this.accept(entryOf(connection), { headers, body }, payload, { origin });
  }

  /** Stores the event of a webhook that could not be parsed, as discarded for this reason. */
  async storeUnreadable(
    { id, source, slug, headers, body }: WebhookRequest & { readonly id: string; readonly source: string; readonly slug: string },
    reason: string,
  ): Promise<void> {
    const event = { ...fromWebhook, event: unreadableEvent, accounts: [], reason };
    await this.#options.dispatcher.accept({ id, source, slug, headers: extensionHeaders(headers), body, ...event });
  }

  async #parseAndDispatch(
    entry: Entry,
    request: ReceivedWebhook,
    payload: Json,
    { deferred, ...context }: DeliveryContext,
  ): Promise<Receipt> {
    const { rules, dispatcher } = this.#options;
    const { slug } = entry;
    const { headers, body } = request;
    const scopes = deferred?.scopes ?? (await this.#scopesOf(entry, request));
    const { given, used } = headersFor(entry, headers);
    const parsed = await parseWebhook(entry, { headers: given, payload, body }, deferred?.last ?? false, this.#options);
    const { source, event } = parsed;
    const allRules = rules.rulesFor(source, event.event_name, event.action);
    const eventRules = deferred
      ? allRules.filter(({ id, check }) => check === null || deferred.proven.includes(id))
      : this.#authenticated(allRules, slug, request);
    const unauthenticated = eventRules.length === 0 && allRules.length > 0;
    return dispatcher.accept({
      ...parsed,
      slug,
      payload,
      headers: withoutSecrets(used(), isNoCredentialOf(allRules)),
      body,
      traceparent: headers.traceparent ?? null,
      replayScopes: scopes,
      ...(eventRules.length > 0 && { matching: () => rules.matching(eventRules, body) }),
      ...(unauthenticated && { reason: "authentication failed for every matching webhook mapping" }),
      ...context,
    });
  }

  /** Stores a webhook whose plugin cannot parse it now. Its event is created when the plugin is available again. */
  async #defer(entry: Entry, { source }: Connection, request: ReceivedWebhook, origin: Origin): Promise<Receipt> {
    const { deferred, rules } = this.#options;
    const ofSource = rules.ofSource(source.name);
    const headers = withoutSecrets(request.headers, isNoCredentialOf(ofSource));
    const scopes = await this.#scopesOf(entry, request);
    const proven = provenIds(ofSource, request);
    const event_id = await deferred.add({
      plugin: source.plugin,
      slug: entry.slug,
      source: source.name,
      body: request.body,
      headers: JSON.stringify(headers),
      context: writeContext({ origin, proven, scopes }),
    });
    return { event_id, status: "accepted" };
  }

  /** The names under which its body counts as received; none if no secret or signature was checked. */
  async #scopesOf(entry: Entry, { signed }: ReceivedWebhook): Promise<readonly string[]> {
    return signed && this.#options.refusesCopies ? replayScopes(entry, this.#options.connections) : [];
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

const entryOf = (connection: Connection): Entry => ({ kind: "connection", slug: slugOf(connection), connection });

/** Whether none of these mappings has its credential in the header `name`. */
const isNoCredentialOf =
  (rules: readonly MappingRule[]) =>
  (name: string): boolean =>
    rules.every(({ authHeader }) => authHeader !== name);

type Headers = Readonly<Record<string, string>>;

/** The headers that are given to the parser of a webhook, and those that it used. Mappings by path use none. */
function headersFor(entry: Entry, headers: Headers): { readonly given: Headers; readonly used: () => Headers } {
  if (entry.kind === "path") return { given: headers, used: () => ({}) };
  const { sandboxed, adapter: source } = entry.connection.source;
  if (sandboxed) return { given: headers, used: () => extensionHeaders(headers, source.signature?.header) };
  const recorded = recordReads(headers);
  return { given: recorded.headers, used: recorded.read };
}

/** Ids of the rules for which a webhook authenticates. */
function provenIds(rules: readonly MappingRule[], request: ReceivedWebhook): number[] {
  const { address, sent = request.body } = request;
  if (!address) return rules.map(({ id }) => id);
  return rules.filter(({ check }) => check?.({ ...request, body: sent, address }).ok).map(({ id }) => id);
}
