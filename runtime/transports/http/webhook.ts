import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Json } from "@signalbox/sdk";
import type { Context } from "hono";
import { clientAddress } from "../../platform/network/client-address.ts";
import type { Networks } from "../../platform/network/networks.ts";
import type { Receiver } from "../../webhooks/receive.ts";
import { methodNotAllowed } from "./app.ts";
import { parseJson, readBody } from "./request.ts";

export interface WebhookOptions {
  readonly maxBytes: number;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trusted: Networks;
}

const prefix = "/webhook/";

/** Webhooks: the raw bytes are verified, parsed and stored, then answered. The answer is sent once the event is durable. */
export function mountWebhooks(app: OpenAPIHono, receiver: Receiver, options: WebhookOptions): void {
  app.post(`${prefix}*`, async (c) => {
    const slug = c.req.path.slice(prefix.length);
    const request = await readRequest(c, options);
    const entry = await receiver.verify(slug, request);
    // At any depth: the payload is stored as bytes, and only a few members are read.
    const payload = parseJson(request.body, request.headers, Number.POSITIVE_INFINITY) as Json;
    const receipt = await receiver.accept(entry, slug, request, payload);
    return c.json(receipt, receipt.status === "accepted" ? 202 : 200);
  });
  app.all(`${prefix}*`, (c, next) => (c.req.path.length > prefix.length ? methodNotAllowed(c, "POST") : next()));
}

/** Header names in lower case, the raw bytes, and the address of the sender. */
async function readRequest(c: Context, { maxBytes, trusted }: WebhookOptions) {
  const body = await readBody(c, maxBytes);
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  const headers: Record<string, string> = incoming ? {} : Object.fromEntries(c.req.raw.headers);
  for (const [name, value] of Object.entries(incoming?.headers ?? {})) {
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  const address = () => clientAddress(incoming?.socket.remoteAddress, headers["x-forwarded-for"], trusted);
  return { headers, body, address };
}
