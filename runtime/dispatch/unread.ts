import type { Json } from "@signalbox/sdk";
import type { Sql } from "../database/client.ts";
import { newId } from "../ids.ts";
import { storableText } from "../json.ts";
import type { Log } from "../log.ts";
import { PluginAway } from "./plugin-away.ts";
import { claimUnread, deleteUnread, insertUnread, releaseUnread, type UnreadRow, waitingPlugins } from "./unread-queries.ts";

/** Webhooks whose plugin was away when they came in: kept as they came, read when it is back. */
export interface Unread {
  /** Resolves once it is durable; answers the id of the event that it becomes. */
  keep(webhook: Omit<UnreadRow, "id" | "attempts">): Promise<string>;
  /** Starts reading. `serves`: whether the plugin can be asked here. */
  open(read: Read, serves: (plugin: string) => boolean): void;
  /** A plugin serves again. */
  wake(plugin: string): void;
  close(): Promise<void>;
}
/** Reads one, and stores its event under this id. `last`: what cannot be read now is stored as unreadable. Throws a `PluginAway`. */
export type Read = (row: UnreadRow, payload: Json, last: boolean) => Promise<void>;

const atOnce = 20;
const mostAttempts = 5;
const sweepMs = 5_000;

export function createUnread(sql: Sql, log: Log): Unread {
  let read: Read | null = null;
  let serves = (_: string): boolean => false;
  let closed = false;
  const draining = new Map<string, Promise<void>>();

  const readAll = async (plugin: string) => {
    while (read && !closed) {
      const rows = await claimUnread(sql, plugin, atOnce);
      if (rows.length === 0) return;
      for (const [i, row] of rows.entries()) {
        try {
          await read(row, JSON.parse(Buffer.from(row.body).toString("utf8")) as Json, row.attempts + 1 >= mostAttempts);
          await deleteUnread(sql, row.id);
        } catch (error) {
          const failed = error instanceof PluginAway && error.over ? row.id : null;
          const rest = rows.slice(i).map(({ id }) => id);
          await releaseUnread(sql, rest, failed, storableText(error instanceof Error ? error.message : String(error)));
          if (!(error instanceof PluginAway)) throw error;
          return;
        }
      }
    }
  };
  const drain = (plugin: string) => {
    if (closed || !read || draining.has(plugin) || !serves(plugin)) return;
    const run = readAll(plugin)
      .catch((error) => log.warn("webhooks that wait for a plugin were not read", { plugin, error }))
      .finally(() => draining.delete(plugin));
    draining.set(plugin, run);
  };
  const sweep = async () => {
    for (const plugin of await waitingPlugins(sql)) drain(plugin);
  };
  const timer = setInterval(() => void sweep().catch((error) => log.warn("waiting webhooks not looked for", { error })), sweepMs);
  return {
    keep: async (webhook) => {
      const id = newId();
      await insertUnread(sql, { id, ...webhook });
      // The plugin may have come back in the moment before it was stored.
      drain(webhook.plugin);
      return id;
    },
    open: (reader, serving) => {
      read = reader;
      serves = serving;
    },
    wake: drain,
    close: async () => {
      closed = true;
      clearInterval(timer);
      await Promise.all(draining.values());
    },
  };
}
