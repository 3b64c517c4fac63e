import { expect, test } from "vitest";
import { testKnowledge } from "./knowledge-suite.ts";
import { failures } from "./sample/failures.ts";
import { sampleKnowledge, sampleKnowledgeFixtures } from "./sample/knowledge.ts";

const failuresOf = (change: Parameters<typeof sampleKnowledge>[0], at = "") =>
  failures(testKnowledge(sampleKnowledge(change), sampleKnowledgeFixtures), at);

const wrong: [string, Parameters<typeof sampleKnowledge>[0], string][] = [
  ["lists one portion only", (k) => ({ list: async (f, c) => ({ ...(await k.list(f, c)), cursor: null }) }), "every page once"],
  [
    "ignores the cursor",
    (k) => ({ list: async (_, c) => ({ ...(await k.list({ cursor: null }, c)), cursor: "p119" }) }),
    "continues from a cursor",
  ],
  [
    "has revisions that never change",
    (k) => ({
      list: async (f, c) => {
        const { pages, cursor } = await k.list(f, c);
        return { cursor, pages: pages.map(({ id }) => ({ id, revision: "1" })) };
      },
    }),
    "revisions change",
  ],
  [
    "lists nothing where it may not look",
    (k) => ({ list: (f, c) => k.list(f, c).catch(() => ({ pages: [], cursor: null })) }),
    "not an empty list",
  ],
  [
    "takes any cursor",
    (k) => ({ list: ({ cursor }, c) => k.list({ cursor: /^p\d+$/.test(cursor ?? "") ? cursor : null }, c) }),
    "invalid cursor",
  ],
  [
    "reads another revision than it lists",
    (k) => ({ read: async (ids, c) => (await k.read(ids, c)).map((page) => ({ ...page, revision: `r${page.revision}` })) }),
    "the revision is that of the list",
  ],
  [
    "forgets the pages that are there",
    (k) => ({ read: async (ids, c) => (ids.length > 3 ? [] : k.read(ids, c)) }),
    "omits pages",
  ],
  [
    "hands NUL on",
    (k) => ({ read: async (ids, c) => (await k.read(ids, c)).map((page) => ({ ...page, body: "a\0" })) }),
    "malformed bodies",
  ],
  [
    "takes a failure for an empty page list",
    (k) => ({ read: (ids, c) => k.read(ids, c).catch(() => []) }),
    "read reports the status 503",
  ],
  [
    "shows the token",
    (k) => ({
      list: (f, c) =>
        k.list(f, c).catch((error) => {
          throw Object.assign(error, { message: `${error.message} ${c.connection.token}` });
        }),
    }),
    "list reports refused credentials",
  ],
];

test("a correct connector passes every case", async () => expect(await failuresOf(undefined)).toEqual([]), 30_000);
test.for(wrong)("a connector that %s fails", { timeout: 30_000 }, async ([, change, at]) => {
  expect(await failuresOf(change, at)).not.toEqual([]);
});
