import { type Built, buildPlugin, toolOf } from "./plugin-bundle.ts";

/** A source that takes some time, and whose process ends for one title. */
const source = (id: string, signature: boolean) => `
  import { definePlugin, isValidHmacSha256, tool } from "@signalbox/sdk";
  import { z } from "zod";
  const nothing = async () => null;
  const seen = [];
  export default definePlugin({
    id: "${id}", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [],
    setup: () => ({ tools: { seen: tool({
      about: "Lists what this process has read.", effect: "read", input: z.object({}), output: z.array(z.number()), run: () => seen,
    }) }, sources: { ${id}: {
      about: "Tickets.", connection: z.object({ webhook_secret: z.string().optional() }), secrets: ["webhook_secret"], required: [],
      ${signature ? `signature: { type: "hmac-sha256", header: "ticket-signature", secret: "webhook_secret" },` : ""}
      verify: ({ headers, body }, { webhook_secret }) =>
        isValidHmacSha256(headers["ticket-signature"] ?? "", body, webhook_secret ?? "") ? { ok: true } : { ok: false, reason: "signature" },
      parse: async ({ headers, payload }) => {
        if (payload.title === "poison") Deno.exit(9);
        if (payload.title === "spin") for (;;);
        await new Promise((done) => setTimeout(done, 5));
        seen.push(payload.number);
        return { delivery_id: headers["ticket-delivery"] ?? null, event_name: "ticket", action: "opened", subject: { project: "p", issue: String(payload.number) },
          actor: null, text: payload.title, marked: false, occurred_at: null, missing_field: null };
      },
      account: nothing, check: nothing, deliver: nothing, find: nothing,
    } } }),
  });`;

const manifestOf = (id: string, signature: boolean) => ({
  id,
  kinds: ["sources", "tools"],
  secrets: { webhook_secret: { title: "Secret of the webhook" } },
  contributes: {
    tools: { seen: toolOf("Lists what this process has read.") },
    sources: {
      [id]: {
        about: "Tickets.",
        connection: { type: "object", properties: { webhook_secret: { type: "string" } } },
        secrets: ["webhook_secret"],
        required: [],
        ...(signature && { signature: { type: "hmac-sha256", header: "ticket-signature", secret: "webhook_secret" } }),
      },
    },
  },
});

/** Builds the plugin with this id; `signature`: whether it declares how its webhooks are signed. */
export const buildTickets = (id: string, signature: boolean): Promise<Built> =>
  buildPlugin(source(id, signature), manifestOf(id, signature));
