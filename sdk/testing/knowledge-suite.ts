import assert from "node:assert/strict";
import type { z } from "zod";
import type { KnowledgeConnector, KnowledgePage } from "../knowledge.ts";
import type { Plugin } from "../plugin.ts";
import type { CallContext } from "../source.ts";
import { assertHandlesFault, expectPluginError, faultScenarios, withTracker } from "./expect.ts";
import { callContext, fakeCapabilities, setUpPlugin } from "./fake-host.ts";
import type { TestCase, TestTracker } from "./fixtures.ts";

/** A small stateful server on loopback that implements the API of the platform, with enough pages for two calls of `list`. */
export interface TestWiki extends Pick<TestTracker, "url" | "fault" | "heal" | "close"> {
  /** Ids of all pages that the settings select. */
  ids(): string[];
  /** Adds a page with `body` in the format of the platform, and returns its id. */
  add(page: { title: string; body: string }): string;
  edit(id: string, change: { title?: string; body?: string }): void;
  remove(id: string): void;
}

/** Input of `testKnowledge`. */
export interface KnowledgeFixtures {
  /** Name of the connector. Default: the id of the plugin. */
  readonly knowledge?: string;
  readonly config?: Record<string, unknown>;
  /** Settings of a source at `url`, with all credentials. */
  readonly settings: (url: string) => Record<string, unknown>;
  /** Settings that select a space that does not exist. */
  readonly elsewhere: (url: string) => Record<string, unknown>;
  /** A body in the format of the platform, with the heading "Setting up" of level 2, followed by "Größe 🦉 zählt". */
  readonly body: string;
  /** Malformed bodies: unclosed, nested 1,000 times, with NUL. */
  readonly strange: readonly string[];
  /** Starts a test server. Called once for each case. */
  readonly wiki: () => Promise<TestWiki>;
}

/** The conformance suite for knowledge connectors. `for (const c of testKnowledge(plugin, fixtures)) test(c.name, c.run);` */
export function testKnowledge(plugin: Plugin, fixtures: KnowledgeFixtures): TestCase[] {
  const name = fixtures.knowledge ?? plugin.id;
  const open = async (url: string, settings = fixtures.settings(url)): Promise<KnowledgeHarness> => {
    const capabilities = fakeCapabilities();
    const knowledge = (await setUpPlugin(plugin, { config: fixtures.config, capabilities })).knowledge?.[name];
    assert.ok(knowledge, `setup must contribute knowledge.${name}`);
    return openHarness(knowledge, settings);
  };
  const casesWithNames = (cases: readonly Case[], slow: boolean) =>
    cases.map(([what, run]) => ({ name: `knowledge ${name}: ${what}`, slow, run: () => withTracker(fixtures.wiki, run) }));
  return [
    ...casesWithNames([...listCases(fixtures, open), ...readCases(fixtures, open)], false),
    ...casesWithNames(faultCases(open), true),
  ];
}

interface KnowledgeHarness {
  readonly knowledge: KnowledgeConnector;
  readonly secrets: readonly string[];
  list(cursor: string | null, deadline_ms?: number): ReturnType<KnowledgeConnector["list"]>;
  /** Calls `list` until the last page. */
  listAll(): Promise<{ portions: number; pages: { id: string; revision: string }[] }>;
  read(ids: readonly string[], deadline_ms?: number): Promise<readonly KnowledgePage[]>;
  readOne(id: string): Promise<KnowledgePage>;
}
type Case = readonly [string, (wiki: TestWiki) => Promise<void>];
type Open = (url: string, settings?: Record<string, unknown>) => Promise<KnowledgeHarness>;

function openHarness(knowledge: KnowledgeConnector, raw: Record<string, unknown>): KnowledgeHarness {
  const parsed = knowledge.config.safeParse(raw);
  assert.ok(parsed.success, `config must accept the settings of the fixtures: ${parsed.error?.message}`);
  const settings = parsed.data as z.output<z.ZodObject>;
  const call = (deadline_ms?: number): CallContext => callContext(settings, deadline_ms === undefined ? {} : { deadline_ms });
  const list: KnowledgeHarness["list"] = async (cursor, deadline_ms) => knowledge.list({ cursor }, call(deadline_ms));
  const read: KnowledgeHarness["read"] = async (ids, deadline_ms) => knowledge.read(ids, call(deadline_ms));
  return {
    knowledge,
    list,
    read,
    secrets: knowledge.secrets.map((name) => settings[name]).filter((value) => typeof value === "string"),
    listAll: async () => {
      const pages: { id: string; revision: string }[] = [];
      let cursor: string | null = null;
      for (let portions = 1; portions < 1000; portions++) {
        const found: Awaited<ReturnType<KnowledgeConnector["list"]>> = await list(cursor);
        assert.ok(found.pages.length <= 1000, `list must return at most 1,000 pages; it returned ${found.pages.length}`);
        pages.push(...found.pages);
        if (found.cursor === null) return { portions, pages };
        assert.equal(typeof found.cursor, "string", "cursor must be a string or null");
        cursor = found.cursor;
      }
      return assert.fail("list must end");
    },
    readOne: async (id) => {
      const [page, ...more] = await read([id]);
      assert.ok(page && more.length === 0, `read(["${id}"]) must return only that page`);
      return page;
    },
  };
}

const sort = (ids: Iterable<string>): string[] => [...ids].sort();

const listCases = (fixtures: KnowledgeFixtures, open: Open): Case[] => [
  [
    "lists every page once, in several calls",
    async (wiki) => {
      const { portions, pages } = await (await open(wiki.url)).listAll();
      assert.ok(portions > 1, "the test server must have enough pages for two calls");
      assert.deepEqual(sort(pages.map(({ id }) => id)), sort(wiki.ids()));
      for (const { id, revision } of pages) assert.ok(id !== "" && revision !== "", "id and revision must not be empty");
    },
  ],
  [
    "continues from a cursor in another process",
    async (wiki) => {
      const first = await (await open(wiki.url)).list(null);
      const second = await (await open(wiki.url)).list(first.cursor);
      const ids = [...first.pages, ...second.pages].map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length, "two calls must not return the same page");
    },
  ],
  [
    "revisions change only with body and title",
    async (wiki) => {
      const { listAll } = await open(wiki.url);
      const [body = "", title = ""] = wiki.ids();
      const before = new Map((await listAll()).pages.map(({ id, revision }) => [id, revision]));
      wiki.edit(body, { body: fixtures.body });
      wiki.edit(title, { title: "Another title" });
      const after = (await listAll()).pages.filter(({ id, revision }) => before.get(id) !== revision);
      assert.deepEqual(sort(after.map(({ id }) => id)), sort([body, title]));
    },
  ],
  [
    "lists added pages, not deleted ones",
    async (wiki) => {
      const [deletedId = ""] = wiki.ids();
      wiki.remove(deletedId);
      const addedId = wiki.add({ title: "New", body: fixtures.body });
      const listedIds = (await (await open(wiki.url)).listAll()).pages.map(({ id }) => id);
      assert.ok(!listedIds.includes(deletedId), `list must not return the deleted page ${deletedId}`);
      assert.ok(listedIds.includes(addedId), `list must return the added page ${addedId}`);
    },
  ],
  [
    "a missing space is an error, not an empty list",
    async (wiki) => {
      const { listAll, secrets } = await open(wiki.url, fixtures.elsewhere(wiki.url));
      const error = await expectPluginError("list", listAll, secrets);
      assert.equal(error.retryable, false, `the error of a missing space must not be retryable; it is ${error.code}`);
    },
  ],
  [
    "rejects an invalid cursor",
    async (wiki) => {
      const { list, secrets } = await open(wiki.url);
      for (const cursor of ["", "x", "{}", "[]", '{"__proto__":1}', "null", "\0", "9".repeat(10_000)]) {
        const error = await expectPluginError(`list with the cursor ${cursor.slice(0, 20)}`, () => list(cursor), secrets);
        assert.equal(error.code, "invalid_input", `the code for an invalid cursor must be invalid_input; it is ${error.code}`);
      }
    },
  ],
];

const readCases = (fixtures: KnowledgeFixtures, open: Open): Case[] => [
  [
    "reads body, title and URL; the revision is that of the list",
    async (wiki) => {
      const id = wiki.add({ title: "Größe & Maß 🦉", body: fixtures.body });
      const { listAll, readOne } = await open(wiki.url);
      const page = await readOne(id);
      assert.equal(page.id, id);
      assert.equal(page.title, "Größe & Maß 🦉");
      assert.match(page.body, /^## Setting up$/m);
      assert.match(page.body, /^Größe 🦉 zählt$/m);
      assert.equal(page.revision, (await listAll()).pages.find((one) => one.id === id)?.revision);
      if (page.url !== null) assert.ok(URL.canParse(page.url), `url must be a URL; it is ${page.url}`);
    },
  ],
  [
    "reads 25 pages at once, each once",
    async (wiki) => {
      const ids = wiki.ids().slice(0, 25);
      const pages = await (await open(wiki.url)).read(ids);
      assert.deepEqual(sort(pages.map(({ id }) => id)), sort(ids));
    },
  ],
  [
    "omits pages that do not exist",
    async (wiki) => {
      const [deletedId = "", existingId = ""] = wiki.ids();
      wiki.remove(deletedId);
      const pages = await (await open(wiki.url)).read([deletedId, existingId, "999999999", "no such page", "../../x", ""]);
      assert.deepEqual(
        pages.map(({ id }) => id),
        [existingId],
      );
    },
  ],
  [
    "converts malformed bodies to text that can be stored",
    async (wiki) => {
      const { readOne } = await open(wiki.url);
      for (const body of fixtures.strange) {
        const page = await readOne(wiki.add({ title: `Strange ${body.length}`, body }));
        assert.ok(page.body.isWellFormed() && !page.body.includes("\0"), "a body must not contain NUL or lone surrogates");
      }
    },
  ],
];

const faultCases = (open: Open): Case[] => [
  ...faultScenarios.flatMap((one) =>
    (["list", "read"] as const).map(
      (method): Case => [
        `${method} reports ${one.name}`,
        async (wiki) => {
          const { list, read, secrets } = await open(wiki.url);
          const ids = wiki.ids().slice(0, 3);
          const run = (deadline_ms: number): unknown => (method === "list" ? list(null, deadline_ms) : read(ids, deadline_ms));
          await assertHandlesFault(one, wiki, method, run, secrets);
          wiki.heal();
          if (method === "list") await list(null);
          else await read(ids);
        },
      ],
    ),
  ),
  [
    "obeys a short Retry-After",
    async (wiki) => {
      const { list } = await open(wiki.url);
      wiki.fault({ kind: "status", status: 429, headers: { "retry-after": "1" }, body: '{"message":"slow down"}', times: 1 });
      const startedAt = performance.now();
      const outcome = await list(null).then(
        () => null,
        (error: { code?: unknown; retry_after_ms?: number }) => error,
      );
      if (outcome === null)
        assert.ok(performance.now() - startedAt > 900, "list returned before the requested second had passed");
      else
        assert.ok(
          outcome.code === "rate_limited" && (outcome.retry_after_ms ?? 0) >= 900,
          "retry_after_ms must be the requested wait",
        );
    },
  ],
];
