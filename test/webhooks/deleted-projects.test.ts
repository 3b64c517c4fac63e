import { expect, test } from "vitest";
import { issueClosed, issueOpened } from "../harness/alpha-payloads.ts";
import { deleteProjectDuring } from "../harness/blocked-statements.ts";
import { freshDatabase } from "../harness/databases.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf } from "../harness/world.ts";

// The embedded database has one session, so that nothing happens during a statement.
test.each([
  ["an opened issue", issueOpened],
  ["a closed issue", issueClosed],
])(
  "a project is deleted while webhooks about %s are stored: all are accepted, also those of other projects",
  {
    tags: ["postgres"],
    timeout: 60_000,
  },
  async (_, payload) => {
    await using database = await freshDatabase("migrated");
    await using world = await startWorld({ databaseUrl: database.url, tasks: ["only"] });
    const { service, tracker } = world;
    await service.post("/api/tasks/triggers", { canonical_trigger: "issue.closed", task_id: "only" });
    const { body: project } = await service.post<{ id: number }>("/api/projects", {
      name: "App",
      source: "alpha",
      source_project_id: "octo/app",
    });
    const repos = ["octo/app", "octo/other", "octo/app", "octo/more"];
    const send = () => Promise.all(repos.map((repo, n) => service.webhook(payload({ repo, number: n + 1 }))));
    const receipts = await deleteProjectDuring(database, project.id, 1, send);
    expect(receipts.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    await waitForExecutions(service, { count: 4, state: "succeeded" });
    for (const [n, repo] of repos.entries()) expect(textsOf(tracker, repo, n + 1)).toHaveLength(1);
    expect(service.logs()).not.toContain('"level":"error"');
  },
);
