import { toolOf } from "./plugin-bundle.ts";

/** A tool that does what its arguments request. */
export const worker = (version: string, sdk = "^0.1.0", id = "worker") => `
  import { definePlugin, tool } from "@signalbox/sdk";
  import { z } from "zod";
  const text = { input: z.object({ text: z.string().default("") }), output: z.object({ said: z.string() }) };
  export default definePlugin({
    id: "${id}", version: "${version}", sdk: "${sdk}", config: z.object({ greeting: z.string().default("hello") }), needs: ["log", "secret"],
    setup: ({ config, log, secret }) => ({ tools: {
      greet: tool({ ...text, about: "Greets.", effect: "read", run: ({ text }) => { log("greeting", { text }); return { said: config.greeting + " " + text + " ${version}" }; } }),
      crash: tool({ ...text, about: "Ends.", effect: "read", run: () => Deno.exit(3) }),
      hidden: tool({ ...text, about: "Tells its credential.", effect: "read", run: async () => ({ said: String(await secret("token")) }) }),
    } }),
  });`;
const text = { text: { type: "string", default: "" } };
/** Its manifest without id and version. */
export const manifest = {
  needs: ["log", "secret"],
  config: { type: "object", properties: { greeting: { type: "string" } } },
  permissions: { http: [] as unknown[] },
  secrets: { token: { title: "Token" } },
  contributes: {
    tools: { greet: toolOf("Greets.", text), crash: toolOf("Ends.", text), hidden: toolOf("Tells its credential.", text) },
  },
};
