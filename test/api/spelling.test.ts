import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { expectRefused } from "../harness/refused.ts";
import { type Service, startService } from "../harness/service.ts";

/** Platforms ignore case in the names of repositories and accounts. */
describe("names that differ only in case", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ seed: true });
  });
  afterAll(() => service?.close());

  const stranger = { issue: { author_association: "NONE", user: { login: "Mona", id: 7 } }, sender: { login: "Mona", id: 7 } };
  const createProject = (source_project_id: string, policy: object = {}) =>
    service.post<{ id: number }>("/api/projects", { name: "Shop", source: "alpha", source_project_id, policy });

  test("the policy, the budgets and the pause of a project apply, whatever the case of its id", async () => {
    const { body: project } = await createProject("Acme/policy", { day_tokens: 5_000, trigger_min_standing: "member" });
    await service.post("/api/pause", { scope: "project", id: String(project.id), reason: "Test." });
    const refused = await service.webhook(issueOpened({ repo: "acme/Policy" }, stranger));
    expect(refused.body.status).toBe("discarded");
    const member = issueOpened({ repo: "acme/Policy", number: 2 }, { issue: { author_association: "MEMBER" } });
    const accepted = await service.webhook(member);
    const [started] = (
      await service.get<{ project_id: number; subject: string }[]>(`/api/task-executions?event_id=${accepted.body.event_id}`)
    ).body;
    expect(started).toMatchObject({ project_id: project.id, subject: "alpha:acme/Policy#2" });
    const headers = { "x-alpha-event": "issues" };
    const explained = await service.post("/api/tasks/resolve", { source: "alpha", headers, payload: member });
    const verdicts = JSON.stringify(explained.body);
    expect(verdicts).toMatch(/5,?000/);
    expect(verdicts).toContain("Test.");
  });

  test("a project is created once", async () => {
    const { status, body } = await createProject("acme/once");
    expect(status).toBe(201);
    expectRefused(await createProject("Acme/Once"), 409, /source_project_id: .*case is ignored/);
    const other = await createProject("acme/other");
    expectRefused(await service.put(`/api/projects/${other.body.id}`, { source_project_id: "ACME/once" }), 409);
    expect(await service.put(`/api/projects/${body.id}`, { source_project_id: "Acme/once" })).toMatchObject({
      status: 200,
      body: { source_project_id: "Acme/once" },
    });
  });

  test("an issue is found by its name, on its own page and in every list", async () => {
    await service.webhook(issueOpened({ repo: "Acme/Found", number: 5 }));
    const stored = "alpha:Acme/Found#5";
    const { body } = await service.get("/api/subjects/alpha/acme%2Ffound/5");
    expect(body).toMatchObject({ subject: stored, project: "Acme/Found", deliveries: [{ event: { subject: stored } }] });
    const lists = ["webhook-events", "task-executions"].map((list) => `/api/${list}?subject=acme/FOUND%235`);
    for (const path of [...lists, "/api/subjects?q=acme/found%235"]) {
      const { body: found } = await service.get<{ subject: string }[]>(path);
      expect([path, found[0]?.subject]).toEqual([path, stored]);
    }
  });

  test("an erasure finds an account, an issue and a project, and the audit log does not keep the account's name", async () => {
    const repo = "acme/Erase";
    for (const number of [1, 2, 3]) await service.webhook(issueOpened({ repo, number }, number === 1 ? stranger : {}));
    const erase = (target: object) => service.post<{ events: number }>("/api/erase", target);
    const { body: project } = await createProject("ACME/erase");
    expect((await erase({ actor: "mONA", dry_run: true })).body.events).toBeGreaterThan(0);
    expect((await erase({ actor: "mONA" })).body.events).toBeGreaterThan(0);
    expect((await erase({ subject: "acme/erase#2" })).body).toMatchObject({ events: 1, subjects: ["alpha:acme/Erase#2"] });
    expect((await erase({ project_id: project.id })).body.events).toBe(3);
    const log = (await service.get<{ after: { actor: string | null; events: number } }[]>("/api/audit-log?operation=data.erase"))
      .body;
    const plainDigest = createHash("sha256").update("mona").digest("hex").slice(0, 16);
    expect(log.map(({ after }) => after.actor)).toEqual([
      null,
      null,
      expect.stringMatching(/^(random|hmac-sha256):[0-9a-f]{16}$/),
    ]);
    expect(JSON.stringify(log)).not.toMatch(/mona/i);
    expect(JSON.stringify(log)).not.toContain(plainDigest);
    expect(log[2]?.after.events).toBeGreaterThan(0);
  });
});
