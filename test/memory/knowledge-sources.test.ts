import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { account, FakeWiki } from "../../plugins/wiki/test-wiki.ts";
import { ended, type Job, jobsOf, synced, wikiConfig } from "../harness/knowledge.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { expectRefused } from "../harness/refused.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

type Body = Record<string, unknown>;
const nobody = "00000000-0000-7000-8000-000000000000";
const path = (id: unknown) => `/api/knowledge-sources/${id}`;

describeOnDatabases("knowledge sources", (database) => {
  let wiki: FakeWiki;
  let service: Service;
  const body = (more: Body = {}): Body => ({ name: "Handbook", type: "wiki", config: wikiConfig(wiki), enabled: false, ...more });
  const add = async (more: Body = {}) => {
    const { status, body: made } = await service.post<Body & { id: string }>("/api/knowledge-sources", body(more));
    expect(status).toBe(201);
    return made;
  };
  const search = async (query: string, more: Body = {}) =>
    (await service.post<{ key: string; content: string }[]>("/api/memory/search", { query, mode: "keyword", ...more })).body;

  beforeAll(async () => {
    wiki = await new FakeWiki().listen();
    wiki.add({
      title: "Deployments",
      body: "<p>Ask the <strong>release</strong> bot.</p><h2>Rollback</h2><p>Press the red button.</p>",
    });
    wiki.add({ title: "Lunch", body: "<p>At noon in the kitchen.</p>" });
    const env = {
      EMBEDDING_DIMENSION: "64",
      ENCRYPTION_KEY: "cd".repeat(32),
      EXECUTION_LEASE_SECONDS: "10",
      WATCHDOG_ENABLED: "true",
    };
    service = await startService({ database, env });
  });
  afterAll(async () => {
    await wiki?.close();
    await service?.close();
  });

  test("create, list, get, change and delete; the token is never shown", async () => {
    const { api_token: _, ...visible } = wikiConfig(wiki);
    const made = await add();
    const { id } = made;
    expect(made).toEqual({
      id: expect.any(String),
      name: "Handbook",
      type: "wiki",
      config: visible,
      project_id: null,
      enabled: false,
      last_synced_at: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(await service.get(path(id))).toMatchObject({ status: 200, body: made });
    const listed = await service.get<Body[]>("/api/knowledge-sources?limit=1000");
    expect(listed.body).toContainEqual(made);
    expect(listed.headers.get("x-total-count")).toBe(String(listed.body.length));
    const renamed = await service.put<Body>(path(id), { name: "Guide", enabled: true });
    expect(renamed).toMatchObject({ status: 200, body: { id, name: "Guide", enabled: true, config: visible } });
    // A response may be sent back; the omitted token is kept.
    const changed = await service.put<Body>(path(id), { config: { ...visible, space_keys: ["OPS"] } });
    expect(changed).toMatchObject({ status: 200, body: { config: { ...visible, space_keys: ["OPS"] } } });
    expect(await synced(service, id)).toMatchObject({ status: "succeeded", pages_seen: 0 });
    expect((await service.del(path(id))).status).toBe(204);
    for (const answer of [
      await service.get(path(id)),
      await service.put(path(id), { name: "x" }),
      await service.del(path(id)),
      await service.post(`${path(id)}/sync`),
      await service.get(`${path(id)}/jobs`),
    ])
      expectRefused(answer, 404, new RegExp(`There is no knowledge source ${id}`));
  });

  test("invalid input is refused by name", async () => {
    const config = wikiConfig(wiki);
    const wrong: [Body, RegExp][] = [
      [{ type: "gopher" }, /^type: .*"gopher"; available: wiki/],
      [{ type: undefined }, /^type: is required/],
      [{ name: " " }, /^name: /],
      [{ config: undefined }, /^config: is required/],
      [{ config: { ...config, base_url: undefined } }, /^config\.base_url: is required/],
      [{ config: { ...config, base_url: "ftp://x" } }, /^config\.base_url: must be an http or https URL/],
      [{ config: { ...config, base_url: "http://10.0.0.1" } }, /^config\.base_url: 10\.0\.0\.1 is not a public address/],
      [{ config: { ...config, base_url: "http://169.254.169.254/latest" } }, /not a public address/],
      [{ config: { ...config, base_url: "http://a:b@example.com" } }, /contains a user name or password/],
      [{ config: { ...config, space_keys: [] } }, /^config\.space_keys: must name at least one space/],
      [{ config: { ...config, space_key: "DOCS" } }, /^config\.space_key: is not a setting of wiki; its settings are: base_url/],
      [{ config: { ...config, is_cloud: "yes" } }, /^config\.is_cloud: /],
      [{ project_id: 2_000_000 }, /^project_id: there is no project 2000000/],
      [{ enabled: "yes" }, /^enabled: /],
    ];
    for (const [more, message] of wrong) expectRefused(await service.post("/api/knowledge-sources", body(more)), 400, message);
    const { id } = await add();
    expectRefused(await service.put(path(id), {}), 400);
    expectRefused(await service.put(path(id), { project_id: 2_000_000 }), 400, /^project_id: /);
    expectRefused(await service.put(path(id), { config: { ...config, space_keys: "DOCS" } }), 400, /^config\.space_keys: /);
    // A user who may change a source must not learn its token by pointing it to another server.
    const { api_token: _, ...kept } = config;
    const elsewhere = { ...kept, base_url: "https://evil.example.com" };
    expectRefused(await service.put(path(id), { config: elsewhere }), 400, /^config\.api_token: must be sent again/);
    expect((await service.put(path(id), { config: { ...elsewhere, api_token: "another" } })).status).toBe(200);
    expectRefused(await service.get(path("x")), 400, /^id: /);
  });

  test("pages are found by those who may see them, with heading and address", async () => {
    const project = async (name: string) =>
      (await service.post<{ id: number }>("/api/projects", { name, source: "alpha", source_project_id: `o/${name}-${database}` }))
        .body.id;
    const [mine, other] = [await project("mine"), await project("other")];
    const { id } = await add({ project_id: mine });
    expect(await synced(service, id)).toMatchObject({ status: "succeeded", pages_seen: 2, pages_changed: 2, chunks_written: 3 });
    expect((await service.get<Body>(path(id))).body.last_synced_at).toEqual(expect.stringMatching(/Z$/));
    const [found] = await search("button", { project_id: mine });
    expect(found).toMatchObject({
      key: `${wiki.url}/wiki/spaces/DOCS/pages/1001/Deployments#chunk-1`,
      content: "Deployments › Rollback\n\nPress the red button.",
      scope: "project",
      project_id: mine,
      agent_id: null,
    });
    expect(await search("button", { project_id: other })).toEqual([]);
    await eventually(async () => {
      const { body: near } = await service.post<{ content: string }[]>("/api/memory/search", {
        query: "the red button",
        limit: 1,
      });
      return near[0]?.content.includes("red button");
    });
    expect((await service.del(path(id))).status).toBe(204);
    expect(await search("button")).toEqual([]);
  });

  test("an open sync is returned as it is; a permanent failure says why, without the token", async () => {
    wiki.fault({ kind: "status", status: 503, headers: { "retry-after": "1" }, body: "{}" });
    const { id } = await add();
    const first = await service.post<Job>(`${path(id)}/sync`);
    expect((await service.post<Job>(`${path(id)}/sync`)).body.id).toBe(first.body.id);
    // It waits for its next try, but changed settings are tried immediately.
    const error = expect.stringContaining("wiki answered 503");
    await eventually(async () => expect((await jobsOf(service, id))[0]).toMatchObject({ status: "queued", error }) ?? true);
    wiki.fault({ kind: "status", status: 401, body: JSON.stringify({ message: `bad token ${account.api_token}` }) });
    expect((await service.put(path(id), { config: wikiConfig(wiki) })).status).toBe(200);
    const failed = await ended(service, id, first.body.id);
    expect(failed).toMatchObject({ status: "failed", error: expect.stringContaining("wiki answered 401") });
    wiki.heal();
    const config = { ...wikiConfig(wiki), space_keys: ["DOCS", "SECRET"] };
    expect((await service.put(path(id), { config })).status).toBe(200);
    expect(await synced(service, id)).toMatchObject({ status: "failed", error: expect.stringContaining('space "SECRET"') });
    expect((await service.get<Body>(path(id))).body.last_synced_at).toBeNull();
    const { body: jobs, headers } = await service.get<Job[]>(`${path(id)}/jobs?limit=1`);
    expect([jobs.length, jobs[0]?.status, headers.get("x-total-count")]).toEqual([1, "failed", "2"]);
    const watched = await service.get<Body[]>("/api/watchdog?limit=100");
    expect(watched.body.some(({ message }) => message === "knowledge source sync failed")).toBe(true);
    expect(JSON.stringify([failed, watched.body, service.logs()])).not.toContain(account.api_token);
  });

  test("a sync that waits for an hour is tried at once if it is asked for again", async () => {
    wiki.fault({ kind: "status", status: 429, headers: { "retry-after": "3600" }, body: "{}" });
    const { id } = await add();
    const { body: first } = await service.post<Job>(`${path(id)}/sync`);
    await eventually(async () => (await jobsOf(service, id))[0]?.error?.includes("429"), { timeout: 20_000 });
    wiki.heal();
    expect(await synced(service, id)).toMatchObject({ id: first.id, status: "succeeded", error: null });
  });

  test("a source can be deleted and changed during a sync", { timeout: 60_000 }, async () => {
    const large = await new FakeWiki().listen();
    const config = { ...wikiConfig(large), base_url: large.url };
    const text = Array.from({ length: 12 }, (_, i) => `<h2>Part ${i}</h2><p>lemur</p>`).join("");
    for (let i = 0; i < 150; i++) large.add({ title: `Page ${i}`, body: text });
    try {
      for (let round = 0; round < 6; round++) {
        const { id } = await add({ config });
        expect((await service.post(`${path(id)}/sync`)).status).toBe(202);
        await eventually(async () => ((await jobsOf(service, id))[0]?.chunks_written ?? 0) > 0, { interval: 10 });
        const again = service.put(path(id), { config });
        const gone = service.del(path(id));
        expect([200, 404]).toContain((await again).status);
        expect((await gone).status).toBe(204);
      }
      expect(await search("lemur")).toEqual([]);
    } finally {
      await large.close();
    }
  });

  test("characters that the database cannot store are replaced, wherever they are in a page", async () => {
    const odd = await new FakeWiki(true, ["DOCS"]).listen();
    onTestFinished(() => odd.close());
    odd.add({ title: "Odd\u0000 title", body: "<p>The zebra\u0000 door.</p>" });
    odd.add({ title: "Half \ud800 title", body: "<p>The zebra \udc00 gate.</p>" });
    odd.add({ title: "Plain", body: "<p>The zebra fence.</p>" });
    const { id } = await add({ config: wikiConfig(odd) });
    expect(await synced(service, id)).toMatchObject({ status: "succeeded", pages_changed: 3, error: null });
    expect((await search("zebra")).map(({ content }) => content).toSorted()).toEqual([
      "Half \ufffd title\n\nThe zebra \ufffd gate.",
      "Odd\ufffd title\n\nThe zebra\ufffd door.",
      "Plain\n\nThe zebra fence.",
    ]);
    expect((await service.del(path(id))).status).toBe(204);
  });

  test("gRPC answers from the same operations", async () => {
    const { id } = await add({ name: "By gRPC" });
    const rpc = (method: string, message: Body) =>
      service.post<Body>(`/signalbox.api.v1.KnowledgeSourceService/${method}`, message);
    expect(await rpc("GetKnowledgeSource", { id })).toMatchObject({
      status: 200,
      body: { knowledgeSource: { name: "By gRPC", config: { space_keys: ["DOCS"] } } },
    });
    expect(await rpc("SyncKnowledgeSource", { id })).toMatchObject({
      status: 200,
      body: { ingestionJob: { knowledgeSourceId: id } },
    });
    expect(await rpc("GetKnowledgeSource", { id: nobody })).toMatchObject({ body: { code: "not_found" } });
    expect(await rpc("ListIngestionJobs", { id, limit: 10 })).toMatchObject({ status: 200 });
  });
});

test("without ENCRYPTION_KEY no token can be stored: 503 naming it; a public wiki needs none", async () => {
  const wiki = { url: "http://127.0.0.1:9" };
  await using service = await startService({ env: { EMBEDDING_DIMENSION: "64" } });
  const body = { name: "Handbook", type: "wiki", config: wikiConfig(wiki) };
  expectRefused(await service.post("/api/knowledge-sources", body), 503, /ENCRYPTION_KEY/);
  const { api_token: _, ...open } = wikiConfig(wiki);
  const made = await service.post<{ id: string }>("/api/knowledge-sources", { ...body, config: open });
  expect(made.status).toBe(201);
  expectRefused(await service.put(path(made.body.id), { config: wikiConfig(wiki) }), 503, /ENCRYPTION_KEY/);
  expectRefused(await service.post("/api/integrations/reencrypt"), 503, /ENCRYPTION_KEY/);
});
