import { type CloudEvent, httpClient, type PluginError, type Queue } from "@signalbox/sdk";
import { z } from "zod";

const messages = z.array(z.custom<CloudEvent>((value) => typeof value === "object" && value !== null && "id" in value));
const page = z.object({ items: messages, total: z.number() });

/** Timeout of a request to the queue service, in milliseconds. */
const timeoutMs = 5_000;
/** Maximum number of messages per request. */
const portion = 100;

/**
 * Replace these requests with requests to your service. Publishing a message with a known id must have no effect, and no
 * other consumer may get a taken message until its lease ends.
 */
export function queue(config: { url: string; token?: string | undefined }, fetch: typeof globalThis.fetch): Queue {
  const { url, token } = config;
  const client = httpClient({
    platform: "the queue service",
    base: url.replace(/\/+$/, ""),
    headers: token ? { authorization: `Bearer ${token}` } : {},
    fetch,
    secrets: token ? [token] : [],
  });
  const signal = () => AbortSignal.timeout(timeoutMs);
  return {
    about: "Messages in a queue service, over HTTP.",
    publish: async (all) => {
      for (let i = 0; i < all.length; i += portion) {
        const body = all.slice(i, i + portion);
        await client.write({ route: "POST /messages", body, schema: z.unknown(), signal: signal() });
      }
    },
    pending: async ({ limit, offset }) =>
      (await client.read({ route: "GET /messages", query: { limit, offset }, schema: page, signal: signal() })).data,
    take: async ({ limit, lease_seconds }) => {
      const body = { limit, lease_seconds };
      return (await client.write({ route: "POST /messages/take", body, schema: messages, signal: signal() })).data;
    },
    ack: async (id) => {
      try {
        await client.write({ route: "POST /messages/{id}/ack", path: { id }, schema: z.unknown(), signal: signal() });
        return true;
      } catch (error) {
        if ((error as PluginError).code === "not_found") return false;
        throw error;
      }
    },
    expire: async (before) => {
      await client.write({ route: "DELETE /messages", query: { before }, schema: z.unknown(), signal: signal() });
    },
  };
}
