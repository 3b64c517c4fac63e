import { expect, test } from "vitest";
import { z } from "zod";
import { PluginError } from "../errors.ts";
import { definePlugin } from "../plugin.ts";
import { type Route, route } from "../route.ts";
import { type RouteFixtures, testRoutes } from "./route-suite.ts";

const token = "t0p-secret";
const count = route({
  about: "Counts the words of a text.",
  method: "POST",
  scope: "read",
  input: z.object({ text: z.string().max(1_000) }),
  run: ({ input: { text } }, { caller }) => {
    if (text === "gone") throw new PluginError("not_found", "There is no such text.");
    if (text === "") return { status: 422, body: { error: "text: must not be empty" } };
    return { status: 200, headers: { "x-request-id": "1" }, body: { words: text.split(/\s+/).length, caller } };
  },
});
const fixtures: RouteFixtures = {
  secrets: [token],
  routes: {
    count: {
      requests: [{ body: { text: "one two" } }],
      refused: [{ body: {} }, { body: { text: "gone" } }, { body: { text: "" } }],
    },
  },
};
const pluginWith = (change: Partial<Route>) =>
  definePlugin({
    id: "sample",
    version: "1.0.0",
    sdk: "^0.1.0",
    config: z.object({}),
    needs: [],
    setup: () => ({ routes: { count: { ...count, ...change } as Route } }),
  });

/** Names of the cases that fail. */
async function failures(change: Partial<Route>): Promise<string[]> {
  const failedCases: string[] = [];
  for (const { name, run } of testRoutes(pluginWith(change), fixtures)) await run().catch(() => failedCases.push(name));
  return failedCases;
}

test("a correct route passes every case", async () => expect(await failures({})).toEqual([]));

const answers = (answer: unknown): Partial<Route> => ({ run: () => answer as never });
const wrong: [string, Partial<Route>, string][] = [
  ["says nothing of itself", { about: " " }, "has a complete declaration"],
  ["answers a redirect", answers({ status: 302, body: null }), "responds to the sample requests"],
  ["sets a cookie", answers({ status: 200, headers: { "set-cookie": "a=b" }, body: {} }), "responds to the sample requests"],
  ["answers what is no JSON", answers({ status: 200, body: { at: new Date(0) } }), "responds to the sample requests"],
  ["answers too much", answers({ status: 200, body: "x".repeat(3_000_000) }), "responds to the sample requests"],
  ["shows a secret", answers({ status: 200, body: { token } }), "responds to the sample requests"],
  ["takes everything", answers({ status: 200, body: {} }), "rejects invalid requests"],
  ["has errors of its own shape", answers({ status: 400, body: { message: "no" } }), "rejects invalid requests"],
  [
    "reads what is not there",
    { input: z.looseObject({}), run: ({ input }) => ({ status: 200, body: (input.text as string).length }) },
    "malformed requests",
  ],
  ["does not end", { run: () => new Promise(() => {}) }, "stops when its signal is aborted"],
];
test.for(wrong)("a route that %s fails", { timeout: 60_000 }, async ([, change, at]) => {
  const cases = testRoutes(pluginWith(change), fixtures).filter(({ name }) => name.includes(at));
  expect(cases).toHaveLength(1);
  await expect(cases[0]?.run()).rejects.toThrow();
});
