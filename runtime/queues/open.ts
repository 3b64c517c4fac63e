import type { Queue } from "@signalbox/sdk";
import type { Sql } from "../database/client.ts";
import { toCloudEvent } from "./messages.ts";
import { ackMessages, listPending, takeMessages } from "./queries.ts";

/** A queue as the operations see it. */
export type OpenQueue = Pick<Queue, "pending" | "take" | "ack">;

/** The queue that the database itself is: its rows are the messages. */
export const databaseQueue = (sql: Sql, name = "postgres"): OpenQueue => ({
  pending: async (page) => {
    const { items, total } = await listPending(sql, name, page);
    return { items: items.map(toCloudEvent), total };
  },
  take: async ({ limit, lease_seconds }) => (await takeMessages(sql, name, limit, lease_seconds)).map(toCloudEvent),
  ack: async (id) => (await ackMessages(sql, name, [id])) > 0,
});

/** Every loaded queue by name: `postgres`, and those of plugins. */
export const openQueues = (sql: Sql, plugins: ReadonlyMap<string, Queue>): ReadonlyMap<string, OpenQueue> =>
  new Map<string, OpenQueue>([...plugins, ["postgres", databaseQueue(sql)]]);
