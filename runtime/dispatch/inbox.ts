import { problem } from "@signalbox/schema/problem";
import type { Json, SourceEvent, WebhookRequest } from "@signalbox/sdk";
import type { Log } from "../log.ts";
import type { Accounts } from "../plugins/accounts.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Dispatcher, Receipt } from "./dispatcher.ts";

/** Headers that are kept with an event: those a source reads, never a credential. */
const secretHeader = /authorization|cookie|signature|token|api-key|secret/;

/** How an event came, where not as a webhook. */
export interface Way {
  readonly replayOf?: string;
  readonly polled?: boolean;
}

export interface Inbox {
  /** Verifies a webhook on its raw bytes. Throws `unauthenticated`; nothing is stored then. */
  verify(slug: string, request: WebhookRequest): Promise<Connection>;
  /** Takes a verified webhook in, or what a poll or a replay tells as one. */
  take(connection: Connection, slug: string, request: WebhookRequest, payload: Json, way?: Way): Promise<Receipt>;
}

export function createInbox(options: {
  connectionBySlug: (slug: string) => Promise<Connection | undefined> | Connection | undefined;
  accounts: Accounts;
  dispatcher: Dispatcher;
  watchdog: (message: string, context: Record<string, unknown>) => void;
  log: Log;
}): Inbox {
  return {
    verify: async (slug, request) => {
      const connection = await options.connectionBySlug(slug);
      if (!connection) throw problem("not_found", `There is no webhook "${slug.slice(0, 100)}".`);
      const verdict = await connection.source.source.verify(request, connection.settings);
      if (!verdict.ok) {
        options.watchdog("webhook refused", { slug, reason: verdict.reason });
        throw problem("unauthenticated", `The webhook was not accepted: ${verdict.reason}`);
      }
      return connection;
    },
    take: async (connection, slug, { headers, body }, payload, way) => {
      const event = await parse(connection, headers, payload, options.log);
      return options.dispatcher.accept({
        source: connection.source.name,
        slug,
        event,
        headers: Object.fromEntries(
          Object.entries(headers).filter(([name]) => name.startsWith("x-") && !secretHeader.test(name)),
        ),
        body,
        account: event.actor === null ? null : await options.accounts.of(connection),
        ...way,
      });
    },
  };
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
