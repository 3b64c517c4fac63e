import { afterAll, beforeAll, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { ended, type Job, jobsOf, StallingWiki, synced, wikiConfig } from "../harness/knowledge.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const pages = 2000;
/** Words that each occur in a twentieth of the pages, so that a search for one finds all of its pages. */
const groups = 20;
const groupOf = (page: number) => `grp${String.fromCharCode(97 + (page % groups))}x`;
const bodyOf = (page: number, note = "as it was") =>
  `<h1>Page ${page}</h1><p>Ledger ${groupOf(page)} number ${page}.</p><h2>Notes</h2><p>Note ${groupOf(page)} of ${page}, ${note}.</p>`;
const chunksOf = (page: number, note = "as it was") => [
  `Title ${page} › Page ${page}\n\nLedger ${groupOf(page)} number ${page}.`,
  `Title ${page} › Page ${page} › Notes\n\nNote ${groupOf(page)} of ${page}, ${note}.`,
];

let wiki: StallingWiki;
let model: Model;
let service: Service;
let source = "";
const ids: string[] = [];
/** Texts that the model embedded, in batches. */
const embedded = () =>
  model.requests.filter(({ path }) => path === "/v1/embeddings").flatMap(({ body }) => (body as { input: string[] }).input);

/** All results of a search by words, group by group: content by key. */
async function index(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let group = 0; group < groups; group++) {
    const query = { query: groupOf(group), mode: "keyword", limit: 1000 };
    const { body } = await service.post<{ key: string; content: string }[]>("/api/memory/search", query);
    for (const { key, content } of body) found.set(key, content);
  }
  return found;
}
const expected = (numbers: readonly number[], notes: Readonly<Record<number, string>> = {}) =>
  new Map(
    numbers.flatMap((page) =>
      chunksOf(page, notes[page]).map((content, i) => {
        const key = `${wiki.url}/wiki/spaces/DOCS/pages/${ids[page]}/${encodeURIComponent(`Title ${page}`)}#chunk-${i}`;
        return [key, content] as const;
      }),
    ),
  );
const everyPage = Array.from({ length: pages }, (_, page) => page);

beforeAll(async () => {
  wiki = await new StallingWiki(true, ["DOCS"]).listen();
  for (const page of everyPage) ids.push(wiki.add({ title: `Title ${page}`, body: bodyOf(page) }));
  model = await startModel();
  const env = {
    LLM_BASE_URL: model.url,
    EMBEDDING_DIMENSION: "64",
    ENCRYPTION_KEY: "ab".repeat(32),
    EXECUTION_LEASE_SECONDS: "10",
  };
  service = await startService({ env });
  const config = wikiConfig(wiki);
  const made = await service.post<{ id: string }>("/api/knowledge-sources", {
    name: "Handbook",
    type: "wiki",
    config,
    enabled: false,
  });
  expect(made.status).toBe(201);
  source = made.body.id;
});
afterAll(async () => {
  await Promise.all([wiki?.close(), model?.close()]);
  await service?.close();
});

test("a wiki of 2,000 pages: a sync that is killed resumes where it was, and the index equals the wiki", async () => {
  wiki.stallAfter = 30;
  const started = await service.post<Job>(`/api/knowledge-sources/${source}/sync`);
  expect(started).toMatchObject({ status: 202, body: { status: "queued", pages_seen: 0 } });
  const stalled = await eventually(async () => (await jobsOf(service, source)).find((job) => job.pages_changed === 30 * 25), {
    timeout: 60_000,
  });
  expect(stalled).toMatchObject({ status: "running", pages_seen: pages, chunks_written: 30 * 50 });
  await service.kill("SIGKILL");
  wiki.heal();
  await service.restart();
  const job = await ended(service, source, started.body.id);
  expect(job).toMatchObject({
    status: "succeeded",
    pages_seen: pages,
    pages_changed: pages,
    pages_deleted: 0,
    chunks_written: 2 * pages,
    error: null,
  });
  // None was read again after the crash; the hanging request got no response.
  expect(wiki.reads).toBe(pages / 25);
  expect(await index()).toEqual(expected(everyPage));
  await eventually(() => new Set(embedded()).size >= 2 * pages, { timeout: 60_000 });
  await eventually(
    async () => {
      const { body } = await service.post<{ content: string }[]>("/api/memory/search", { query: chunksOf(1234)[0], limit: 1 });
      return body[0]?.content === chunksOf(1234)[0];
    },
    { timeout: 30_000 },
  );
});

test("a sync without a change embeds nothing, an edit embeds only what changed, a deleted page leaves the index", async () => {
  const before = embedded().length;
  const reads = wiki.reads;
  expect(await synced(service, source)).toMatchObject({
    status: "succeeded",
    pages_seen: pages,
    pages_changed: 0,
    chunks_written: 0,
  });
  expect(wiki.reads).toBe(reads);

  wiki.edit(ids[7] as string, { body: bodyOf(7, "as it is now") });
  wiki.remove(ids[8] as string);
  expect(await synced(service, source)).toMatchObject({
    status: "succeeded",
    pages_seen: pages - 1,
    pages_changed: 1,
    pages_deleted: 1,
    chunks_written: 1,
  });
  expect(await index()).toEqual(
    expected(
      everyPage.filter((page) => page !== 8),
      { 7: "as it is now" },
    ),
  );
  await eventually(async () => {
    const query = { query: chunksOf(7, "as it is now")[1], limit: 1 };
    const { body } = await service.post<{ content: string }[]>("/api/memory/search", query);
    return body[0]?.content === query.query;
  });
  // The chunk that changed, and the query.
  expect(embedded().slice(before).sort()).toEqual([chunksOf(7, "as it is now")[1], chunksOf(7, "as it is now")[1]]);
});
