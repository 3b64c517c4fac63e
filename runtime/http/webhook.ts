import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Json } from "@signalbox/sdk";
import type { Context } from "hono";
import type { Inbox } from "../dispatch/inbox.ts";
import { parseJson, readBody } from "./request.ts";

/** The webhook door: raw bytes in, verified, parsed, stored, answered. The answer comes once the event is durable. */
export function mountWebhooks(app: OpenAPIHono, inbox: Inbox, maxBytes: number): void {
  app.post("/webhook/:slug", async (c) => {
    const slug = c.req.param("slug");
    const request = { headers: headersOf(c), body: await readBody(c.req.raw, maxBytes) };
    const connection = await inbox.verify(slug, request);
    const payload = parseJson(request.body) as Json;
    const receipt = await inbox.take(connection, slug, request, payload);
    return c.json(receipt, receipt.status === "accepted" ? 202 : 200);
  });
}

const headersOf = (c: Context): Record<string, string> => Object.fromEntries(c.req.raw.headers);
