import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { listRefusedPosts } from "./posts-probe.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterAll(() => door?.close());

/** An execution that ended so many minutes ago, whose last step is its post. */
async function insertPost(issue: number, minutes: number, error: string | null, slug = "alpha"): Promise<void> {
  const { sql } = door;
  const id = newId();
  const [state, step] = error === null ? ["succeeded", "succeeded"] : ["failed", "started"];
  await sql`
    insert into task_executions (id, task_id, canonical_trigger, source, slug, subject, content, state, error, result_url, finished_at)
    values (${id}, 't', 'x', 'alpha', ${slug}, ${`alpha:a/b#${issue}`}, '', ${state}, ${error}, ${error === null ? "https://a.example/1" : null}, now() - ${minutes} * interval '1 minute')`;
  await sql`
    insert into execution_steps (id, execution_id, seq, kind, state, name, error)
    values (${newId()}, ${id}, 0, 'model', 'succeeded', 'm', null), (${newId()}, ${id}, 1, 'post', ${step}, 'alpha', ${error})`;
}
const refused = () => listRefusedPosts(door.sql, async ({ slug }) => (slug === "alpha" ? "environment" : `${slug}`));

test("a source refuses comments if executions on two issues failed to post in the last hour and none has posted since", async () => {
  await insertPost(1, 90, "403");
  await insertPost(2, 50, "403");
  await insertPost(2, 40, "404");
  expect(await refused()).toEqual([]);
  await insertPost(3, 45, "422");
  expect(await refused()).toEqual([{ source: "alpha", account: "environment", executions: 3, issues: 2, error: "404" }]);
  // Two issues are locked, and comments on others are posted.
  await insertPost(4, 42, null);
  expect(await refused()).toEqual([]);
  await insertPost(5, 10, "422");
  expect(await refused()).toEqual([{ source: "alpha", account: "environment", executions: 4, issues: 3, error: "422" }]);
});

test("accounts of one source count separately, and an issue of several tasks counts once", async () => {
  const broken = "01980000-0000-7000-8000-000000000001";
  await insertPost(21, 5, "403", broken);
  await insertPost(21, 4, "403", broken);
  expect((await refused()).map(({ account }) => account)).toEqual(["environment"]);
  await insertPost(22, 3, "404", broken);
  await insertPost(23, 2, null);
  expect(await refused()).toEqual([{ source: "alpha", account: broken, executions: 3, issues: 2, error: "404" }]);
});
