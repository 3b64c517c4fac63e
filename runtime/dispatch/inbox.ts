import { problem } from "@signalbox/schema/problem";
import type { Json, SourceEvent, WebhookRequest } from "@signalbox/sdk";
import type { Log } from "../log.ts";
import type { Accounts } from "../plugins/accounts.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Sent } from "../webhook-mappings/auth.ts";
import type { Evaluator } from "../webhook-mappings/evaluator.ts";
import { admitted, type Hook, type Hooks, type PathHook } from "../webhook-mappings/hooks.ts";
import { sourceEventOf } from "../webhook-mappings/source-event.ts";
import type { Dispatcher, Receipt } from "./dispatcher.ts";

/** Headers that are kept with an event: those a source reads, never a credential. */
const secretHeader = /authorization|cookie|signature|token|api-key|secret/;

/** How an event came, where not as a webhook. */
export interface Way {
  readonly replayOf?: string;
  readonly polled?: boolean;
  /** Signalbox did it itself and wants it to run what is mapped to it; the webhook that follows runs nothing. */
  readonly own?: boolean;
}

/** Webhook mappings that a path leads to. */
export interface PathEntry {
  readonly hooks: readonly PathHook[];
}
/** What a webhook comes in by: the account of a platform, or webhook mappings. */
export type Entry = Connection | PathEntry;

/** A webhook; with `address` one at the door, which is asked for its proofs, else one that was let in before. */
export type Received = WebhookRequest & Partial<Pick<Sent, "address">>;

export interface Inbox {
  /** What `/webhook/<slug>` leads to: the name of a source, the id of an integration, or the path of a webhook mapping. */
  entry(slug: string): Promise<Entry | undefined>;
  /** Verifies a webhook on its raw bytes. Throws `unauthenticated`; nothing is stored then. */
  verify(slug: string, request: WebhookRequest & Sent): Promise<Entry>;
  /** Takes a verified webhook in, or what a poll or a replay tells as one. */
  take(entry: Entry, slug: string, request: Received, payload: Json, way?: Way): Promise<Receipt>;
}

export interface InboxOptions {
  readonly connectionBySlug: (slug: string) => Promise<Connection | undefined> | Connection | undefined;
  readonly accounts: Accounts;
  readonly hooks: Hooks;
  readonly evaluator: Evaluator;
  readonly dispatcher: Dispatcher;
  readonly watchdog: (message: string, context: Record<string, unknown>) => void;
  readonly log: Log;
}

export function createInbox(options: InboxOptions): Inbox {
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
  const prove = <H extends Hook>(found: readonly H[], slug: string, request: Received): readonly H[] => {
    const { address } = request;
    if (found.length === 0 || !address) return found;
    const verdict = admitted(found, { ...request, address });
    if (!verdict.ok) throw refuse(slug, verdict.reason);
    return verdict.hooks;
  };
  return {
    entry,
    verify: async (slug, request) => {
      const found = await entry(slug);
      if (!found) throw problem("not_found", `There is no webhook "${slug.slice(0, 100)}".`);
      if ("hooks" in found) return { hooks: prove(found.hooks, slug, request) };
      const verdict = await found.source.source.verify(request, found.settings);
      if (!verdict.ok) throw refuse(slug, verdict.reason);
      return found;
    },
    take: async (found, slug, request, payload, way) => {
      const { headers, body } = request;
      const read = "hooks" in found ? await readPath(found, body, options) : await readSource(found, headers, payload, options);
      const { source, event } = read;
      const concerned = prove(hooks.concerning(source, event.event_name, event.action), slug, request);
      return options.dispatcher.accept({
        ...read,
        slug,
        headers: Object.fromEntries(
          Object.entries(headers).filter(([name]) => name.startsWith("x-") && !secretHeader.test(name)),
        ),
        body,
        ...(concerned.length > 0 && { matching: () => hooks.matching(concerned, body) }),
        ...way,
      });
    },
  };
}

async function readSource(
  connection: Connection,
  headers: Readonly<Record<string, string>>,
  payload: Json,
  { accounts, log }: InboxOptions,
) {
  const event = await parse(connection, headers, payload, log);
  const account = event.actor === null ? null : await accounts.of(connection);
  return { source: connection.source.name, event, account };
}

/** The first mapping whose filter matches reads the event; each that matches may name a trigger. */
async function readPath({ hooks: all }: PathEntry, body: Uint8Array, { hooks, evaluator }: InboxOptions) {
  const matching = await hooks.matching(all, body);
  const hook = matching[0] ?? (all[0] as PathHook);
  const event = await sourceEventOf(hook, body, evaluator);
  const triggers = matching.flatMap(({ canonical_trigger }) => canonical_trigger ?? []);
  const refusal = matching.length === 0 ? { reason: "the filter of no webhook mapping at this path matches" } : {};
  return { source: hook.source, event, account: null, triggers, ...refusal };
}

/** A source that throws on a payload has a fault; the event is kept all the same and can be replayed once it is mended. */
async function parse(
  connection: Connection,
  headers: Readonly<Record<string, string>>,
  payload: Json,
  log: Log,
): Promise<SourceEvent> {
  try {
    return await connection.source.source.parse({ headers, payload });
  } catch (error) {
    log.error("a source could not read an event", { source: connection.source.name, error });
    const blank = { delivery_id: null, action: null, subject: null, actor: null, text: "", marked: false, occurred_at: null };
    return { ...blank, event_name: "", lacks: `what ${connection.source.plugin} needs: it could not be read` };
  }
}
