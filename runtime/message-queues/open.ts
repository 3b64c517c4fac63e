import type { ForwardingQueue, Queue } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { ownQueue } from "../plugins/load.ts";
import { toCloudEvent } from "./messages.ts";
import { ackMessages, listPending, takeMessages } from "./queries.ts";

/** A message queue, as the operations use it. */
export type OpenQueue = Pick<Queue, "pending" | "take" | "ack">;

/** Whether consumers can take messages from the queue. A queue that only forwards them stores none. */
const isOpen = (queue: Queue | ForwardingQueue | undefined): queue is Queue => queue !== undefined && "take" in queue;

/** The database as a queue: its rows are the messages. */
const databaseQueue = (sql: Sql): OpenQueue => ({
  pending: async (page) => {
    const { items, total } = await listPending(sql, ownQueue, page);
    return { items: items.map(toCloudEvent), total };
  },
  take: async ({ limit, lease_seconds }) => (await takeMessages(sql, ownQueue, limit, lease_seconds)).map(toCloudEvent),
  ack: async (id) => (await ackMessages(sql, ownQueue, [id])) > 0,
});

/** The loaded queues by name. */
export interface Queues {
  get(name: string): OpenQueue | undefined;
  names(): string[];
}

/** The database's queue, named `postgres`, and those of the loaded plugins. */
export function openQueues(sql: Sql, plugins: ReadonlyMap<string, Queue | ForwardingQueue>): Queues {
  const own = databaseQueue(sql);
  return {
    get: (name) => {
      const queue = plugins.get(name);
      return name === ownQueue ? own : isOpen(queue) ? queue : undefined;
    },
    names: () => [ownQueue, ...[...plugins].flatMap(([name, queue]) => (isOpen(queue) ? name : []))],
  };
}
