import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type MemoryDoor, openMemoryDoor } from "./testing/memory-door.ts";

let opened: MemoryDoor;
let project: number;
beforeAll(async () => {
  opened = await openMemoryDoor();
  await opened.door.post("/api/agents/seed");
  const body = { name: "App", source: "alpha", source_project_id: "octo/app" };
  project = (await opened.door.post("/api/projects", body)).body.id;
}, 120_000);
afterAll(() => opened?.close());

const create = (body: Record<string, unknown>) => opened.door.post("/api/memory", body);
const search = (body: Record<string, unknown>) => opened.door.post("/api/memory/search", body);
const keysOf = (body: { key: string }[]) => body.map(({ key }) => key);

test("search in three modes, by agent, project and scope, within the limit", async () => {
  for (let i = 0; i < 12; i++)
    await create({ key: `kite-${i}`, content: `Kite number ${i} flies`, scope: "agent", agent_id: "dev_default" });
  await create({ key: "kite-org", content: "A kite of the organisation", scope: "organizational" });
  expect((await search({ query: "kite" })).body).toHaveLength(10);
  expect((await search({ query: "kite", limit: 3 })).body).toHaveLength(3);
  expect((await search({ query: "kite", limit: 100, agent_id: "dev_default" })).body).toHaveLength(12);
  expect(keysOf((await search({ query: "kites", mode: "keyword", scope: "organizational" })).body)).toEqual(["kite-org"]);
  expect(keysOf((await search({ query: "kite flies number 7", mode: "keyword" })).body)).toEqual(["kite-7"]);
  const hybrid = await search({ query: "Which kite has the number 7?", mode: "hybrid", limit: 5 });
  expect(keysOf(hybrid.body)[0]).toBe("kite-7");
  const semantic = await search({ query: "kite number 7", limit: 5 });
  const similarities = semantic.body.map(({ similarity }: { similarity: number }) => similarity);
  expect(similarities).toEqual([...similarities].sort((a, b) => b - a));
});

test("words come as people write them: lists, rules, options, whole pages", async () => {
  await create({ key: "quokka", content: "npm run quokka --force, but never on a Monday", scope: "organizational" });
  await create({ key: "narwhal", content: "A narwhal needs no tools.", scope: "organizational" });
  const rule = "-".repeat(80);
  for (const query of [
    "quokka --force",
    "- quokka\n- force",
    `quokka\n${rule}\nforce`,
    `quokka ${"- ".repeat(80)}force`,
    "-(-(quokka",
  ])
    expect([query, keysOf((await search({ query, mode: "keyword" })).body)]).toEqual([query, ["quokka"]]);
  expect((await search({ query: "quokka -force", mode: "keyword" })).body).toEqual([]);
  const [first] = (await search({ query: `- quokka\n- force\n${rule}`, mode: "hybrid" })).body;
  expect(first.key).toBe("quokka");
  // The maximum number of words: the embedded database would be busy with them for minutes.
  const page = "quokka ".repeat(37_000);
  expect(keysOf((await search({ query: page, mode: "hybrid" })).body)).toContain("quokka");
  const refused = await search({ query: page, mode: "keyword" });
  expect(refused).toMatchObject({ status: 400, body: { error: expect.stringMatching(/^query: .*at most 8000 characters/) } });
});

test("document chunks are found together with memories", async () => {
  const source = newId();
  await opened.door
    .sql`insert into knowledge_sources (id, name, type, project_id) values (${source}, 'handbook', 'wiki', ${project})`;
  const metadata = { title: "Releases", url: "https://wiki.example/releases" };
  await opened.door.sql`
    insert into document_chunks (id, knowledge_source_id, content, metadata, chunk_index)
    values (${newId()}, ${source}, 'A platypus signs every release.', ${JSON.stringify(metadata)}::text::jsonb, 3)`;
  opened.memory.onChunksStored();
  await create({ key: "platypus", content: "The platypus is our mascot.", scope: "organizational" });
  const chunk = "https://wiki.example/releases#chunk-3";
  expect(keysOf((await search({ query: "platypus", mode: "keyword" })).body).sort()).toEqual([chunk, "platypus"]);
  // The loop embeds it a moment later.
  for (let i = 0; i < 300 && keysOf((await search({ query: "platypus release", limit: 1 })).body)[0] !== chunk; i++)
    await sleep(100);
  const [first] = (await search({ query: "platypus release", limit: 1 })).body;
  expect(first).toMatchObject({ key: chunk, scope: "project", project_id: project, agent_id: null });
  expect(keysOf((await search({ query: "platypus", mode: "hybrid", project_id: project })).body)).toContain(chunk);
  for (const filter of [{ agent_id: "qa_default" }, { scope: "organizational" }, { scope: "task" }, { project_id: project + 1 }])
    expect(keysOf((await search({ query: "platypus", mode: "hybrid", ...filter })).body)).not.toContain(chunk);
});
