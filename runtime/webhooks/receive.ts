import { problem } from "@signalbox/schema/problem";
import type { Json, SourceEvent, WebhookRequest } from "@signalbox/sdk";
import type { Evaluator } from "../platform/evaluator.ts";
import type { Log } from "../platform/log.ts";
import type { SentRequest } from "../platform/webhook-auth.ts";
import type { Accounts } from "../plugins/accounts.ts";
import type { Connection } from "../plugins/connections.ts";
import type { DeferredWebhooks } from "./deferred/defer.ts";
import type { Dispatcher, InOrder, Receipt } from "./dispatch.ts";
import { sourceEventOf } from "./extract-event.ts";
import { authenticate, type MappingRule, type MappingRules, type PathRule } from "./mapping-rules.ts";
import { askPlugin, PluginUnavailable } from "./plugin-unavailable.ts";

/** Headers that are kept with an event: those a source reads, never a credential. */
const secretHeader = /authorization|cookie|signature|token|api-key|secret/;

/** How an event came, where not as a webhook. */
export interface DeliveryContext {
  readonly replayOf?: string;
  readonly polled?: boolean;
  /** Signalbox did it itself and wants it to run what is mapped to it; the webhook that follows runs nothing. */
  readonly own?: boolean;
  /** It was kept while its plugin was away. */
  readonly deferred?: DeferredDelivery;
}
/** A webhook that is read later than it came. */
export interface DeferredDelivery {
  /** The id that its event gets. */
  readonly id: string;
  /** The webhook mappings whose proofs it brought. */
  readonly proven: readonly number[];
  /** What cannot be read is stored as unreadable. */
  readonly last: boolean;
  readonly inTurn: InOrder;
}

/** Webhook mappings that a path leads to. */
export interface PathEntry {
  readonly hooks: readonly PathRule[];
}
/** What a webhook comes in by: the account of a platform, or webhook mappings. */
export type Entry = Connection | PathEntry;

/** A webhook; with `address` one at the door, which is asked for its proofs, else one that was let in before. */
export type Received = WebhookRequest & Partial<Pick<SentRequest, "address">>;

export interface Receiver {
  /** What `/webhook/<slug>` leads to: the name of a source, the id of an integration, or the path of a webhook mapping. */
  entry(slug: string): Promise<Entry | undefined>;
  /** Verifies a webhook on its raw bytes. Throws `unauthenticated`; nothing is stored then. */
  verify(slug: string, request: WebhookRequest & SentRequest): Promise<Entry>;
  /** Takes a verified webhook in, or what a poll or a replay tells as one. */
  accept(entry: Entry, slug: string, request: Received, payload: Json, way?: DeliveryContext): Promise<Receipt>;
  /** Stores one that nobody could read, under this id. */
  storeUnreadable(kept: UnreadableWebhook, reason: string): Promise<void>;
}
export interface UnreadableWebhook extends WebhookRequest {
  readonly id: string;
  readonly source: string;
  readonly slug: string;
}

export interface ReceiverOptions {
  readonly connectionBySlug: (slug: string) => Promise<Connection | undefined> | Connection | undefined;
  readonly accounts: Accounts;
  readonly hooks: MappingRules;
  readonly evaluator: Evaluator;
  readonly dispatcher: Dispatcher;
  readonly unread: DeferredWebhooks;
  readonly watchdog: (message: string, context: Record<string, unknown>) => void;
  readonly log: Log;
}

export function createReceiver(options: ReceiverOptions): Receiver {
  const { hooks, watchdog } = options;
  const entry = async (slug: string): Promise<Entry | undefined> => {
    const connection = await options.connectionBySlug(slug);
    if (connection) return connection;
    const found = hooks.atPath(`/webhook/${slug}`);
    return found.length > 0 ? { hooks: found } : undefined;
  };
  const refuse = (slug: string, reason: string) => {
    watchdog("webhook refused", { slug, reason });
    return problem("unauthenticated", `The webhook was not accepted: ${reason}`);
  };
  /** The mappings whose proofs a webhook brings; without an address at hand it was let in before. */
  const prove = <H extends MappingRule>(found: readonly H[], slug: string, request: Received): readonly H[] => {
    const { address } = request;
    if (found.length === 0 || !address) return found;
    const verdict = authenticate(found, { ...request, address });
    if (!verdict.ok) throw refuse(slug, verdict.reason);
    return verdict.hooks;
  };
  const accept = async (found: Entry, slug: string, request: Received, payload: Json, way: DeliveryContext) => {
    const { headers, body } = request;
    const { deferred, ...rest } = way;
    const read =
      "hooks" in found
        ? await readPath(found, body, options)
        : await readSource(found, headers, payload, options, deferred?.last ?? false);
    const { source, event } = read;
    const all = hooks.concerning(source, event.event_name, event.action);
    const concerned = deferred
      ? all.filter(({ id, check }) => check === null || deferred.proven.includes(id))
      : prove(all, slug, request);
    return options.dispatcher.accept({
      ...read,
      slug,
      headers: storedHeaders(headers),
      body,
      ...(concerned.length > 0 && { matching: () => hooks.matching(concerned, body) }),
      ...(concerned.length === 0 && all.length > 0 && { reason: "it brought no proof that a webhook mapping asks for" }),
      ...(deferred && { id: deferred.id, inOrder: deferred.inTurn }),
      ...rest,
    });
  };
  return {
    entry,
    verify: async (slug, request) => {
      const found = await entry(slug);
      if (!found) throw problem("not_found", `There is no webhook "${slug.slice(0, 100)}".`);
      if ("hooks" in found) return { hooks: prove(found.hooks, slug, request) };
      const verdict = await verifyBy(found, request);
      if (!verdict.ok) throw refuse(slug, verdict.reason);
      return found;
    },
    accept: async (found, slug, request, payload, way = {}) => {
      if ("hooks" in found || way.deferred || !found.source.sandboxed) return accept(found, slug, request, payload, way);
      const { plugin, name } = found.source;
      const keep = async (): Promise<Receipt> => {
        const event_id = await options.unread.add({
          ...{ plugin, slug, source: name, body: request.body },
          headers: JSON.stringify(
            Object.fromEntries(Object.entries(request.headers).filter(([header]) => !secretHeader.test(header))),
          ),
          way: JSON.stringify({ ...way, proven: provenBy(hooks.ofSource(name), request) }),
        });
        return { event_id, status: "accepted" };
      };
      if (await options.unread.isWaiting({ plugin, slug })) return keep();
      try {
        return await accept(found, slug, request, payload, way);
      } catch (error) {
        if (!(error instanceof PluginUnavailable)) throw error;
        return keep();
      }
    },
    storeUnreadable: async ({ id, source, slug, headers, body }, reason) => {
      const event: SourceEvent = { ...blank, event_name: "", missing_field: null };
      await options.dispatcher.accept({ id, source, slug, event, headers: storedHeaders(headers), body, account: null, reason });
    },
  };
}

const blank = { delivery_id: null, action: null, subject: null, actor: null, text: "", marked: false, occurred_at: null };
const storedHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("x-") && !secretHeader.test(name)));

/** A source checks its webhooks; one whose plugin is away, and did not say how, cannot. */
async function verifyBy({ source, settings }: Connection, request: WebhookRequest) {
  if (!source.sandboxed) return source.source.verify(request, settings);
  try {
    return await askPlugin(() => source.source.verify(request, settings));
  } catch (error) {
    if (!(error instanceof PluginUnavailable)) throw error;
    throw problem("unavailable", `The plugin ${source.plugin} cannot check webhooks now: ${error.message}. Send it again.`, {
      retryAfter: 5,
    });
  }
}

/** Ids of the mappings that ask for a proof which the webhook brings; it is not kept itself. */
const provenBy = (all: readonly MappingRule[], request: Received): number[] => {
  const { address } = request;
  if (!address) return all.map(({ id }) => id);
  return all.filter(({ check }) => check?.({ ...request, address }).ok).map(({ id }) => id);
};

async function readSource(
  connection: Connection,
  headers: Readonly<Record<string, string>>,
  payload: Json,
  { accounts, log }: ReceiverOptions,
  last: boolean,
) {
  const event = await parse(connection, headers, payload, log, last);
  const account = event.actor === null ? null : await accounts.of(connection);
  return { source: connection.source.name, event, account };
}

/** The first mapping whose filter matches reads the event; each that matches may name a trigger. */
async function readPath({ hooks: all }: PathEntry, body: Uint8Array, { hooks, evaluator }: ReceiverOptions) {
  const matching = await hooks.matching(all, body);
  const hook = matching[0] ?? (all[0] as PathRule);
  const event = await sourceEventOf(hook, body, evaluator);
  const triggers = matching.flatMap(({ canonical_trigger }) => canonical_trigger ?? []);
  const refusal = matching.length === 0 ? { reason: "the filter of no webhook mapping at this path matches" } : {};
  return { source: hook.source, event, account: null, triggers, ...refusal };
}

/**
 * A source that throws on a payload has a fault; the event is kept all the same and can be replayed once it is mended.
 * Throws a `PluginAway` where the plugin cannot be asked now, unless this is the last try.
 */
async function parse(
  connection: Connection,
  headers: Readonly<Record<string, string>>,
  payload: Json,
  log: Log,
  last: boolean,
): Promise<SourceEvent> {
  const { source } = connection;
  try {
    const parse = () => source.source.parse({ headers, payload });
    return source.sandboxed ? await askPlugin(parse) : await parse();
  } catch (error) {
    if (error instanceof PluginUnavailable && !(last && error.duringCall)) throw error;
    log.error("a source could not read an event", { source: source.name, error });
    return { ...blank, event_name: "", missing_field: `what ${source.plugin} needs: it could not be read` };
  }
}
