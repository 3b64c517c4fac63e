import { afterAll, beforeAll, expect, test } from "vitest";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { makeAllPollsDue, pollsUnderWay } from "../harness/database-faults.ts";
import { freshDatabase } from "../harness/databases.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

interface PollSource {
  readonly id: number;
  readonly cursor: string | null;
  readonly last_error: string | null;
  readonly last_polled_at: string | null;
}
const secondsAgo = (seconds: number) => new Date(Math.floor(Date.now() / 1000 - seconds) * 1000).toISOString();

describeOnDatabases("poll sources", (database) => {
  let tracker: Tracker;
  let service: Service;
  let project = 0;
  /** A separate repository for every test, and a source that polls it on demand. */
  const add = async (more: object = {}) => {
    const repo = `octo/app${++project}`;
    const body = { source: "alpha", project_id: repo, interval_minutes: 60, enabled: false, ...more };
    const created = await service.post<PollSource>("/api/poll-sources", body);
    expect(created.status).toBe(201);
    tracker.createIssue({ repo, title: "Old", createdAt: "2020-01-01T00:00:00Z" });
    return { repo, id: created.body.id, created: created.body };
  };
  const poll = (id: number) => service.post(`/api/poll-sources/${id}/poll`);
  const read = async (id: number) => (await service.get<PollSource>(`/api/poll-sources/${id}`)).body;

  beforeAll(async () => {
    tracker = await startTracker();
    service = await startService({
      database,
      seed: true,
      env: { ALPHA_API_URL: tracker.url, ALPHA_TOKEN: "t", WATCHDOG_ENABLED: "true" },
    });
  }, 120_000);
  afterAll(async () => {
    await service?.close();
    await tracker?.close();
  }, 60_000);

  test("create, list, get, change and delete", async () => {
    const body = {
      source: "alpha",
      project_id: "octo/crud",
      interval_minutes: 5,
      enabled: false,
      since: "2026-01-01T01:00:00+01:00",
    };
    const created = await service.post<PollSource>("/api/poll-sources", body);
    expect(created.status).toBe(201);
    const { id } = created.body;
    expect(created.body).toEqual({
      ...body,
      id,
      since: "2026-01-01T00:00:00.000Z",
      cursor: null,
      last_polled_at: null,
      last_error: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect((await service.get("/api/poll-sources")).body).toContainEqual(created.body);
    expect(await service.get(`/api/poll-sources/${id}`)).toMatchObject({ status: 200, body: created.body });
    const changed = await service.put(`/api/poll-sources/${id}`, { interval_minutes: 10, enabled: true, since: null });
    expect(changed).toMatchObject({
      status: 200,
      body: { id, interval_minutes: 10, enabled: true, since: null, project_id: "octo/crud" },
    });
    expect((await service.del(`/api/poll-sources/${id}`)).status).toBe(204);
    for (const answer of [
      await service.get(`/api/poll-sources/${id}`),
      await service.put(`/api/poll-sources/${id}`, { enabled: false }),
      await service.del(`/api/poll-sources/${id}`),
      await poll(id),
    ])
      expect(answer).toMatchObject({ status: 404, body: { error: `There is no poll source ${id}.` } });
  });

  test("invalid input is refused by name", async () => {
    const body = { source: "alpha", project_id: "octo/app", interval_minutes: 5, enabled: true };
    for (const [wrong, says] of [
      [{ source: "nowhere" }, /source: there is no source "nowhere"; sources that can be polled: .*alpha/],
      [{ interval_minutes: 0 }, /interval_minutes/],
      [{ enabled: "yes" }, /enabled/],
      [{ project_id: undefined }, /project_id: is required/],
      [{ since: "yesterday" }, /^since: must be a time in ISO 8601 with a zone/],
      [{ since: "9999-12-31T23:59:59-12:00" }, /since: must be between the years/],
    ] as const) {
      expect(await service.post("/api/poll-sources", { ...body, ...wrong })).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(says) },
      });
    }
    const { id } = await add();
    expect((await service.put(`/api/poll-sources/${id}`, { source: "nowhere" })).status).toBe(400);
    expect((await service.put(`/api/poll-sources/${id}`, {})).status).toBe(400);
    expect((await service.post("/api/poll-sources/x/poll")).status).toBe(400);
  });

  test("a poll runs once what a webhook would have run", async () => {
    const { repo, id } = await add();
    const { number } = tracker.createIssue({ repo, title: "New", login: "mona" });
    expect(await poll(id)).toMatchObject({ status: 200, body: { fetched: 1, accepted: 1, duplicates: 0 } });
    const { cursor, last_polled_at } = await read(id);
    expect(cursor).toEqual(expect.any(String));
    expect(last_polled_at).toEqual(expect.any(String));
    const events = (await service.get<{ subject: string; id: string }[]>("/api/webhook-events?limit=100")).body;
    const mine = events.filter((event) => event.subject === `alpha:${repo}#${number}`);
    expect(mine).toMatchObject([
      {
        event_name: "issues",
        action: "opened",
        polled: true,
        actor: "mona",
        canonical_triggers: ["issue.created"],
        outcome: "dispatched",
      },
    ]);
    const executions = await service.get(`/api/task-executions?event_id=${mine[0]?.id}`);
    expect(executions.body).toHaveLength(2);
    expect((await poll(id)).body).toEqual({ fetched: 0, accepted: 0, duplicates: 0 });
  });

  test("reads from `since` if given, and the same again is a duplicate", async () => {
    const { repo, id } = await add({ since: "2019-12-31T00:00:00Z" });
    expect((await poll(id)).body).toEqual({ fetched: 1, accepted: 1, duplicates: 0 });
    // Resets the cursor, as after a crash between the events and the cursor.
    await service.put(`/api/poll-sources/${id}`, { since: "2019-12-30T00:00:00Z" });
    expect(await read(id)).toMatchObject({ cursor: null });
    tracker.comment(repo, 1, "Any news?", "mona");
    expect((await poll(id)).body).toEqual({ fetched: 2, accepted: 1, duplicates: 1 });
  });

  test("a webhook and a poll of the same change are one event, whichever is first", async () => {
    const { repo, id } = await add();
    const first = tracker.createIssue({ repo, title: "By webhook first" });
    const webhook = await service.webhook(issueOpened({ repo, number: first.number }));
    expect(webhook.status).toBe(202);
    const second = tracker.createIssue({ repo, title: "By poll first" });
    expect((await poll(id)).body).toEqual({ fetched: 2, accepted: 1, duplicates: 1 });
    const late = await service.webhook(issueOpened({ repo, number: second.number }));
    expect(late).toMatchObject({ status: 200, body: { status: "duplicate" } });
    expect((await service.get(`/api/webhook-events/${late.body.event_id}`)).body).toMatchObject({ polled: true });
  });

  test("two webhooks of one change differ only by their delivery id", async () => {
    const { repo } = await add();
    const payload = issueOpened({ repo, number: 77 });
    expect((await service.webhook(payload, { delivery: `${repo}-1` })).status).toBe(202);
    expect((await service.webhook(payload, { delivery: `${repo}-2` })).status).toBe(202);
    expect((await service.webhook(payload, { delivery: `${repo}-2` })).body).toMatchObject({ status: "duplicate" });
  });

  test("a failed poll answers 502 and keeps its reason until the next success", async () => {
    const { repo, id } = await add();
    tracker.createIssue({ repo, title: "Waits" });
    tracker.fault({ path: `/repos/${repo}/issues`, status: 404 });
    const failed = await poll(id);
    tracker.clearFaults();
    expect(failed).toMatchObject({ status: 502, body: { error: expect.stringMatching(/alpha could not be polled: /) } });
    expect(await read(id)).toMatchObject({ cursor: null, last_error: (failed.body as { error: string }).error });
    expect((await poll(id)).body).toMatchObject({ accepted: 1 });
    expect(await read(id)).toMatchObject({ last_error: null });
  });

  test("an item that cannot be read does not stop the others, and the watchdog names it once", async () => {
    const { repo, id } = await add();
    const { number } = tracker.createIssue({ repo, title: "New", login: "mona" });
    const damaged = tracker.comment(repo, number, "Damaged", "mona");
    Object.assign(damaged, { createdAt: "soon" });
    tracker.comment(repo, number, "Sound", "mona");
    expect(await poll(id)).toMatchObject({ status: 200, body: { fetched: 2 } });
    await service.put(`/api/poll-sources/${id}`, { since: "2019-12-30T00:00:00Z" });
    expect(await poll(id)).toMatchObject({ status: 200, body: { fetched: 3 } });
    const entries = async () => {
      const { body } = await service.get<{ context: object }[]>("/api/watchdog?search=poll+skipped+unreadable+items");
      return body.map(({ context }) => context);
    };
    const item = `issues/comments: ${damaged.id}: created_at: is not a time`;
    const entry = { poll_source: id, source: "alpha", project: repo, items: [item], count: 1 };
    await eventually(async () => (await entries()).length > 0);
    expect(await entries()).toEqual([entry]);
  });

  test("a source that is not configured cannot be polled, and names what is missing", async () => {
    const { id } = await add({ source: "beta" });
    expect(await poll(id)).toMatchObject({
      status: 503,
      body: { error: expect.stringMatching(/not configured.*BETA_TOKEN/) },
    });
  });
});

test("one replica at a time keeps the schedule, also after kill -9", {
  timeout: 180_000,
  tags: ["postgres"],
}, async () => {
  const tracker = await startTracker();
  const env = { ALPHA_API_URL: tracker.url, ALPHA_TOKEN: "t", EXECUTION_LEASE_SECONDS: "10" };
  await using database = await freshDatabase("migrated");
  const databaseUrl = database.url;
  await using first = await startService({ databaseUrl, seed: true, env });
  await using second = await startService({ databaseUrl, env });
  await using api = await startService({ databaseUrl, env: { ...env, SIGNALBOX_ROLE: "api" } });
  const total = async (path: string) => Number((await api.get(`${path}?limit=1`)).headers.get("x-total-count"));
  const polls = () => tracker.requests.filter(({ path }) => /^\/repos\/octo\/app\/issues(\/comments)?\?/.test(path)).length;
  try {
    tracker.createIssue({ repo: "octo/app", title: "One" });
    const body = { source: "alpha", project_id: "octo/app", interval_minutes: 60, enabled: true, since: secondsAgo(60) };
    const { id } = (await api.post<PollSource>("/api/poll-sources", body)).body;
    const source = async () => (await api.get<PollSource>(`/api/poll-sources/${id}`)).body;
    await makeAllPollsDue(database);
    await eventually(async () => (await source()).last_polled_at, { timeout: 30_000 });
    // Two lists belong to one poll.
    expect(polls()).toBe(2);
    expect(await total("/api/task-executions")).toBe(2);

    // A replica dies during a poll: another one takes the source over, and nothing runs twice.
    tracker.createIssue({ repo: "octo/app", title: "Two" });
    tracker.delayMs = 1500;
    await second.kill();
    await makeAllPollsDue(database);
    // The schedule is checked every 15 seconds.
    await eventually(async () => (await pollsUnderWay(database)) > 0, { timeout: 30_000 });
    await first.kill();
    tracker.delayMs = 0;
    await second.restart();
    await eventually(async () => (await source()).last_polled_at, { timeout: 60_000 });
    expect(await total("/api/webhook-events")).toBe(2);
    expect(await total("/api/task-executions")).toBe(4);

    // A replica without the worker role polls nothing, not even at its start; one with it does.
    await second.kill();
    await makeAllPollsDue(database);
    const before = polls();
    await api.restart();
    expect(await source()).toMatchObject({ last_polled_at: null });
    await second.restart();
    await eventually(async () => (await source()).last_polled_at, { timeout: 60_000 });
    expect(polls()).toBe(before + 2);
  } finally {
    await tracker.close();
  }
});
