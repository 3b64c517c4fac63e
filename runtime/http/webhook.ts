import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Json } from "@signalbox/sdk";
import type { Context } from "hono";
import type { Inbox } from "../dispatch/inbox.ts";
import { parseJson, readBody } from "./request.ts";

/** The webhook door: raw bytes in, verified, parsed, stored, answered. The answer comes once the event is durable. */
export function mountWebhooks(app: OpenAPIHono, inbox: Inbox, maxBytes: number): void {
  app.post("/webhook/:slug", async (c) => {
    const slug = c.req.param("slug");
    const request = await receive(c, maxBytes);
    const connection = await inbox.verify(slug, request);
    // However deep: it is kept as bytes, and only a few members are read.
    const payload = parseJson(request.body, Number.POSITIVE_INFINITY) as Json;
    const receipt = await inbox.take(connection, slug, request, payload);
    return c.json(receipt, receipt.status === "accepted" ? 202 : 200);
  });
}

/** Header names in lower case, and the raw bytes. */
async function receive(c: Context, maxBytes: number): Promise<{ headers: Record<string, string>; body: Uint8Array }> {
  const body = await readBody(c, maxBytes);
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  if (!incoming) return { headers: Object.fromEntries(c.req.raw.headers), body };
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  return { headers, body };
}
