import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { Problem } from "@signalbox/schema/problem";
import type { Json } from "@signalbox/sdk";
import type { Context } from "hono";
import { clientAddress } from "../../platform/network/client-address.ts";
import type { Networks } from "../../platform/network/networks.ts";
import { labelValue, webhookSeconds, webhooks } from "../../platform/telemetry/metrics.ts";
import { TurnLimit } from "../../platform/turn-limit.ts";
import type { WebhookHead } from "../../webhooks/admit.ts";
import type { Receiver } from "../../webhooks/receive.ts";
import type { Entry } from "../../webhooks/received-webhook.ts";
import { methodNotAllowed } from "./app.ts";
import { type BodyBudget, readBody, refuseLargeBody } from "./body.ts";
import { bodyValue } from "./request.ts";

interface WebhookOptions {
  readonly maxBytes: number;
  /** Maximum size of the body of a webhook that needs no secret or signature, in bytes. */
  readonly maxUncheckedBytes: number;
  readonly budget: BodyBudget;
  /** Proxies whose `X-Forwarded-For` counts. */
  readonly trustedProxies: Networks;
}

const prefix = "/webhook/";

/**
 * How many webhooks are verified and parsed in one turn of the event loop. Each takes about a quarter of a millisecond. A run needs
 * several turns for each of its requests, so without this limit, many webhooks at once would slow down every run.
 */
const perTurn = 16;

/** The source of a path, as in the metrics. */
const nameOf = (entry: Entry | undefined): string =>
  entry ? labelValue("source", entry.kind === "path" ? "path" : entry.connection.source.name) : "unknown";

/**
 * Receives webhooks. Checks the slug and the headers before it reads the body, then verifies the raw bytes, parses and
 * stores the event. Answers once the event is durable.
 */
export function mountWebhooks(app: OpenAPIHono, receiver: Receiver, options: WebhookOptions): void {
  const turns = new TurnLimit(perTurn);
  app.post(`${prefix}*`, async (c) => {
    const began = performance.now();
    const slug = c.req.path.slice(prefix.length);
    const head = headOf(c, options.trustedProxies);
    try {
      const { entry, receipt } = await receive(c, slug, head, receiver, { ...options, turns });
      const status = receipt.status === "accepted" ? 202 : 200;
      webhooks.inc({ source: nameOf(entry), status });
      return c.json(receipt, status);
    } catch (error) {
      const entry = await receiver.entry(slug).catch(() => undefined);
      webhooks.inc({ source: nameOf(entry), status: error instanceof Problem ? error.status : 500 });
      if (error instanceof Problem && error.status < 500) receiver.noteRefusal(slug, entry, head, error.message);
      throw error;
    } finally {
      webhookSeconds.observe((performance.now() - began) / 1000);
    }
  });
  app.all(`${prefix}*`, (c, next) => (c.req.path.length > prefix.length ? methodNotAllowed(c, "POST") : next()));
}

interface ReceiveOptions extends WebhookOptions {
  readonly turns: TurnLimit;
}

async function receive(c: Context, slug: string, head: WebhookHead, receiver: Receiver, options: ReceiveOptions) {
  refuseLargeBody(c, options.maxBytes);
  const { entry, needsProof } = await receiver.admit(slug, head);
  const maxBytes = needsProof ? options.maxBytes : Math.min(options.maxBytes, options.maxUncheckedBytes);
  const sent = await readBody(c, { maxBytes, budget: options.budget });
  await new Promise<void>((done) => options.turns.begin(done));
  const verified = await receiver.verify(entry, { ...head, body: sent });
  const body = jsonOfForm(sent, head.headers);
  const request = { ...head, body, sent, signed: needsProof };
  const payload = bodyValue(await receiver.parseJson(body), head.headers) as Json;
  return { entry, receipt: await receiver.accept(verified, request, payload) };
}

/** Header names in lower case, and the address of the sender. */
function headOf(c: Context, trustedProxies: Networks): WebhookHead {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  const headers: Record<string, string> = incoming ? {} : Object.fromEntries(c.req.raw.headers);
  for (const [name, value] of Object.entries(incoming?.headers ?? {})) {
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  const address = () => clientAddress(incoming?.socket.remoteAddress, headers["x-forwarded-for"], trustedProxies);
  return { headers, address };
}

const form = /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i;

/**
 * Returns the JSON of a webhook that was sent as a form in its field `payload`, which is the default of GitHub's webhooks.
 * Returns any other body unchanged. Signatures cover the bytes as they were sent.
 */
function jsonOfForm(body: Uint8Array, headers: Readonly<Record<string, string | undefined>>): Uint8Array {
  if (!form.test(headers["content-type"] ?? "")) return body;
  const payload = new URLSearchParams(new TextDecoder().decode(body)).get("payload");
  return payload === null ? body : new TextEncoder().encode(payload);
}
