import type { CloudEvent, Queue, RedisAccess } from "@signalbox/sdk";
import * as scripts from "./scripts.ts";

/**
 * Three keys: the messages by id; when each is due (its time, or the end of its lease), in milliseconds; and all known ids
 * by time, including acknowledged ones, so that a repeated message is ignored. One hash tag keeps
 * them on one node of a cluster.
 */
export function redisQueue(redis: RedisAccess): Queue {
  const keys = ["messages", "due", "known"].map((name) => `${redis.prefix}{queue}:${name}`);
  const messages = (reply: unknown): CloudEvent[] => (reply as string[]).map((text) => JSON.parse(text) as CloudEvent);
  return {
    about: "Redis, with at-least-once delivery.",
    publish: async (events) => {
      for (let i = 0; i < events.length; i += 100) {
        const portion = events.slice(i, i + 100).flatMap((one) => [one.id, Date.parse(one.time), JSON.stringify(one)]);
        await redis.script(scripts.publish, keys, portion);
      }
    },
    pending: async ({ limit, offset }) => {
      const [total, ...items] = (await redis.script(scripts.pendingScript, keys, [limit, offset])) as [number, ...string[]];
      return { total: Number(total), items: messages(items) };
    },
    take: async ({ limit, lease_seconds }) => messages(await redis.script(scripts.take, keys, [limit, lease_seconds * 1000])),
    ack: async (id) => Number(await redis.script(scripts.ack, keys, [id])) > 0,
    expire: async (before) => {
      while (Number(await redis.script(scripts.expire, keys, [Date.parse(before)])) > 0);
    },
  };
}
