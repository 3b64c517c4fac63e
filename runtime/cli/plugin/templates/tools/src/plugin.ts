import { definePlugin, httpClient, tool } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };

const countWords = tool({
  about: "Counts the words of a text.",
  effect: "read",
  input: z.object({ text: z.string().max(100_000).describe("The text.") }),
  output: z.object({ words: z.int() }),
  run: ({ text }) => ({ words: text.split(/\s+/).filter(Boolean).length }),
});

const status = z.object({ state: z.enum(["up", "down"]), since: z.string() });

/** `fetch` sends requests through the host, and only to the hosts in `signalbox.permissions.http` of package.json. */
const getStatus = (fetch: typeof globalThis.fetch) => {
  const client = httpClient({ platform: "the status page", base: "https://status.example.com", headers: {}, fetch, secrets: [] });
  return tool({
    about: "Reports whether a service is up, and since when.",
    effect: "read",
    input: z.object({ service: z.string().min(1).max(100).describe("Name of the service, for example web.") }),
    output: status,
    run: async ({ service }, { signal }) => {
      const { data } = await client.read({ route: "GET /services/{service}", path: { service }, schema: status, signal });
      return data;
    },
  });
};

export default definePlugin({
  id: "my-plugin",
  version: own.version,
  sdk: "^0.1.0",
  about: "Counts words, and looks up whether services are up.",
  config: z.object({}),
  needs: ["fetch"],
  setup: ({ fetch }) => ({ tools: { count_words: countWords, get_status: getStatus(fetch) } }),
});
