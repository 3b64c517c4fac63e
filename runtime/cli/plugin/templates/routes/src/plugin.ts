import { definePlugin, type OperationsAccess, route } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };

/** The caller's API key must have `scope`. For a route without a key, use `open`, and name the route in package.json. */
const countWords = route({
  about: "Counts the words of a text.",
  method: "POST",
  scope: "write",
  input: z.object({ text: z.string().max(100_000) }),
  run: ({ input: { text } }) => ({ status: 200, body: { words: text.split(/\s+/).filter(Boolean).length } }),
});

const page = z.object({ items: z.array(z.object({ id: z.number(), name: z.string() })), total: z.number() });

/** Host operations are the operations of its API. This plugin can call those that package.json names. */
const projects = (operations: OperationsAccess) =>
  route({
    about: "Lists the projects whose name contains a text.",
    method: "GET",
    scope: "read",
    input: z.object({ name: z.string().max(100).default("") }),
    run: async ({ input: { name } }) => {
      const { items } = page.parse(await operations.call("projects.list", { limit: 1000 }));
      const matching = items.filter((one) => one.name.toLowerCase().includes(name.toLowerCase()));
      return { status: 200, body: { projects: matching.map((one) => ({ id: one.id, name: one.name })) } };
    },
  });

export default definePlugin({
  id: "my-plugin",
  version: own.version,
  sdk: "^0.1.0",
  about: "Lists projects and counts words.",
  config: z.object({}),
  needs: ["operations"],
  setup: ({ operations }) => ({ routes: { projects: projects(operations), count_words: countWords } }),
});
