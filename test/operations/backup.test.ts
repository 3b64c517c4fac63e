import { execFileSync } from "node:child_process";
import { expect, inject, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { issueOf, plainScript, startWorld, surroundings, textsOf, webhookSecret } from "../harness/world.ts";

const repo = "octo/app";

/** Copies a database with the tools of PostgreSQL, as described in `examples/deploy/upkeep.md`. */
function copy(from: string, to: string): void {
  const [program = "", ...before] = inject("pgDump");
  const maxBuffer = 2 ** 28;
  const dump = execFileSync(program, [...before, "--format=custom", `--dbname=${from}`], { maxBuffer });
  const [restore = "", ...others] = [program, ...before].map((part) => part.replace(/pg_dump$/, "pg_restore"));
  execFileSync(restore, [...others, "--no-owner", "--exit-on-error", `--dbname=${to}`], { input: dump, maxBuffer });
}

const send = async (service: Service, number: number) => {
  const { status, body } = await service.webhook(issueOpened({ repo, number }), { delivery: `d-${number}` });
  return { status, event_id: body.event_id, state: body.status };
};

test("after the restore of a backup taken under load, ended runs stay ended, waiting ones run once, nothing is written twice", {
  tags: ["postgres", "pg_dump"],
}, async () => {
  await using database = await freshDatabase();
  await using restored = await freshDatabase();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  await using world = await startWorld({
    databaseUrl: database.url,
    tasks: ["first"],
    script: async (request, number) => {
      if (issueOf(request) === `${repo}#2`) {
        asked.resolve();
        await answer.promise;
      }
      return plainScript(request, number);
    },
  });
  const [ended, underWay] = [await send(world.service, 1), await send(world.service, 2)];
  await waitForExecutions(world.service, { event_id: ended.event_id });
  await asked.promise;
  await world.service.post("/api/pause", { scope: "all", reason: "before the backup" });
  const waiting = await send(world.service, 3);
  copy(database.url, restored.url);
  // The first service continues for a while: it answers executions that are running in the dump.
  answer.resolve();
  await waitForExecutions(world.service, { event_id: underWay.event_id });
  const answers = () => [1, 2, 3].map((number) => textsOf(world.tracker, repo, number).length);
  expect(answers()).toEqual([1, 1, 0]);
  await world.service.close();

  const env = surroundings(world.tracker, world.model);
  const options = { databaseUrl: restored.url, webhookSecret, env: { ...env, SIGNALBOX_ROLE: "api" } };
  await using service = await startService(options);
  const stateOf = async ({ event_id }: { event_id: string }) =>
    (await service.get<{ id: string; state: string }[]>(`/api/task-executions?event_id=${event_id}`)).body[0];
  expect((await stateOf(ended))?.state).toBe("succeeded");
  expect((await stateOf(waiting))?.state).toBe("queued");
  expect((await service.get("/api/audit-log/verify")).body).toMatchObject({ state: "intact" });
  expect(await send(service, 1)).toMatchObject({ status: 200, state: "duplicate" });
  const open = await stateOf(underWay);
  expect(["running", "queued"]).toContain(open?.state);
  expect((await service.post(`/api/task-executions/${open?.id}/cancel`)).status).toBe(200);

  await service.restart({ SIGNALBOX_ROLE: "all" });
  expect((await service.post("/api/resume", { scope: "all" })).status).toBe(200);
  await eventually(async () => (await stateOf(waiting))?.state === "succeeded");
  expect(await stateOf(underWay)).toMatchObject({ state: "cancelled" });
  expect(answers()).toEqual([1, 1, 1]);
});
