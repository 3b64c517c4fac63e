import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withoutEntriesOf } from "../harness/database-faults.ts";
import { freshDatabase } from "../harness/databases.ts";
import type { DeathPoint } from "../harness/die-at.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { bundledService } from "../harness/process.ts";
import { type Service, startService } from "../harness/service.ts";
import { startUrlProxy } from "../harness/tcp-proxy.ts";
import { eventually } from "../harness/wait.ts";

interface Entry {
  readonly actor: string;
  readonly operation: string;
  readonly object: string;
  readonly before: { readonly name?: string } | null;
  readonly after: Record<string, unknown> | null;
}

/** The service finds the file in its working folder. */
const withDeaths = { NODE_OPTIONS: `--import ${join(bundledService, "die-at.js")}`, DIE_AT: "die-at.json" };
const append = "append_to_audit_log";
const agent = (id: string) => ({ id, name: "A", role_id: "qa", prompt: "p", auth_enabled: true, auth_secret: "s3cret-agent" });
const entriesOf = async (service: Service, object: string) =>
  (await service.get<Entry[]>(`/api/audit-log?object=${object}`)).body;
const isIntact = async (service: Service) =>
  expect((await service.get("/api/audit-log/verify")).body).toMatchObject({ state: "intact", broken_at: null });
const unknown = {
  is_complete: false,
  error: "The service stopped before it recorded the result; check whether the change was made.",
};
/** An entry of a replica that was killed appears once its change is 20 s old and three checks have missed it. */
const timeout = 120_000;

function isAlive({ pid }: Service): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Sends a change at which the service dies. */
async function die(service: Service, point: DeathPoint, change: () => Promise<unknown>): Promise<void> {
  const file = join(service.folder, withDeaths.DIE_AT);
  writeFileSync(file, JSON.stringify(point));
  // It may answer before it dies after a response.
  await change().catch(() => {});
  await eventually(() => !isAlive(service), { timeout: 60_000 });
  rmSync(file);
}

describeOnDatabases("kill -9", (database) => {
  // The program that ends the service is loaded by an option of Node.
  describe.concurrent("of a change", { tags: ["node"] }, () => {
    test.each([
      ["before its entry is appended", { when: "before", sql: append, about: [] }, 201, unknown],
      ["after its entry was appended", { when: "after", sql: append, about: [] }, 201, { auth_enabled: true }],
      ["before it is made", { when: "before", sql: "insert into agents", about: [] }, 404, unknown],
    ] as const)("%s: the log has one entry", { timeout: 300_000 }, async (_, point, found, after) => {
      await using service = await startService({ database, env: withDeaths });
      await die(service, point, () => service.post("/api/agents", agent("lost")));
      await service.restart();
      expect((await service.get("/api/agents/lost")).status).toBe(found === 201 ? 200 : found);
      await eventually(async () => (await entriesOf(service, "agents/lost")).length > 0, { timeout });
      // Changes after it do not repeat the entry.
      expect((await service.put("/api/agents/other", { name: "B" })).status).toBe(404);
      const entries = await entriesOf(service, "agents/lost");
      expect(entries).toMatchObject([{ operation: "agents.create", before: null, after: { id: "lost", name: "A", ...after } }]);
      expect(JSON.stringify(entries)).not.toContain("s3cret");
      await isIntact(service);
    });
  });
});

describe.concurrent("on PostgreSQL", { tags: ["postgres", "node"] }, () => {
  test("two replicas append one entry of a third that was killed", { timeout: 300_000 }, async () => {
    await using database = await freshDatabase("migrated");
    const start = () => startService({ databaseUrl: database.url, env: withDeaths });
    await using first = await start();
    await using second = await start();
    expect((await first.post("/api/agents", agent("lost"))).status).toBe(201);
    await die(first, { when: "before", sql: append, about: [] }, () => first.put("/api/agents/lost", { name: "B" }));
    // A replica that starts removes those of its host whose processes have ended.
    await first.restart();
    await eventually(async () => (await entriesOf(second, "agents/lost")).length > 1, { timeout });
    const [entry, created, ...others] = await entriesOf(first, "agents/lost");
    expect(entry).toMatchObject({ operation: "agents.update", before: { name: "A" }, after: { name: "B", ...unknown } });
    expect([created?.operation, others]).toEqual(["agents.create", []]);
    await isIntact(second);
  });

  test("entries that could not be appended follow, those without an answer once", { timeout: 300_000 }, async () => {
    await using database = await freshDatabase("migrated");
    await using proxy = await startUrlProxy(database.url);
    await using service = await startService({ databaseUrl: proxy.url });
    const answers = proxy.loseAnswers({ when: new RegExp(append) });
    expect((await service.post("/api/agents", agent("unanswered"))).status).toBe(201);
    expect(answers.lost).toBe(1);
    await proxy.mend();
    await withoutEntriesOf(database, "agents/refused", async () => {
      expect((await service.post("/api/agents", agent("refused"))).status).toBe(201);
      expect(await entriesOf(service, "agents/refused")).toEqual([]);
    });
    // The entries are repeated in their order.
    await eventually(async () => (await entriesOf(service, "agents/refused")).length > 0, { timeout });
    for (const id of ["unanswered", "refused"])
      expect(await entriesOf(service, `agents/${id}`)).toMatchObject([{ operation: "agents.create", after: { id, name: "A" } }]);
    await isIntact(service);
  });
});
