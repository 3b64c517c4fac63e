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
  /** Proxies whose `X-Forwarded-For` is believed. */
  readonly trusted: Networks;
}

const door = "/webhook/";

/** The webhook door: raw bytes in, verified, parsed, stored, answered. The answer comes once the event is durable. */
export function mountWebhooks(app: OpenAPIHono, inbox: Receiver, options: WebhookOptions): void {
  app.post(`${door}*`, async (c) => {
    const slug = c.req.path.slice(door.length);
    const request = await receive(c, options);
    const entry = await inbox.verify(slug, request);
    // However deep: it is kept as bytes, and only a few members are read.
    const payload = parseJson(request.body, request.headers, Number.POSITIVE_INFINITY) as Json;
    const receipt = await inbox.accept(entry, slug, request, payload);
    return c.json(receipt, receipt.status === "accepted" ? 202 : 200);
  });
  app.all(`${door}*`, (c, next) => (c.req.path.length > door.length ? methodNotAllowed(c, "POST") : next()));
}

/** Header names in lower case, the raw bytes, and how to find out who sent them. */
async function receive(c: Context, { maxBytes, trusted }: WebhookOptions) {
  const body = await readBody(c, maxBytes);
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  const headers: Record<string, string> = incoming ? {} : Object.fromEntries(c.req.raw.headers);
  for (const [name, value] of Object.entries(incoming?.headers ?? {})) {
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  const address = () => clientAddress(incoming?.socket.remoteAddress, headers["x-forwarded-for"], trusted);
  return { headers, body, address };
}
