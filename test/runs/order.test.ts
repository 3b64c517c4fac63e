import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { issueCommented, issueEdited, issueOpened } from "../harness/alpha-payloads.ts";
import { testOnDatabases } from "../harness/on-databases.ts";
import { eventually } from "../harness/wait.ts";
import { startWorld, textsOf } from "../harness/world.ts";

interface Seen {
  readonly id: string;
  readonly state: string;
  readonly hop: number | null;
  readonly held_reason: string | null;
}

testOnDatabases(
  "without debounce and commands: each edit runs, older states do not, and webhooks that arrive late close a loop all the same",
  async (database) => {
    const repo = "octo/order";
    const env = { UPDATE_DEBOUNCE_SECONDS: "0", COMMANDS_ENABLED: "false", LOOP_WINDOW_SECONDS: "2", LOOP_MAX_HOPS: "2" };
    await using world = await startWorld({ database, tasks: ["first"], env });
    const { service } = world;
    const edited = { source: "alpha", event_name: "issues", action: "edited", canonical_trigger: "issue.updated" };
    expect((await service.post("/api/tasks/sources", edited)).status).toBe(201);
    for (const canonical_trigger of ["issue.updated", "issue.commented"])
      expect((await service.post("/api/tasks/triggers", { canonical_trigger, task_id: "first" })).status).toBe(201);
    const send = async (payload: object) => (await service.webhook(payload)).body;
    const ends = (event_id: string, ...states: string[]) =>
      eventually(async () => {
        const [one] = (await service.get<Seen[]>(`/api/task-executions?event_id=${event_id}`)).body;
        return one && states.includes(one.state) && one;
      });

    const edit = (title: string, second: number) =>
      send(issueEdited({ repo, number: 1, title }, { issue: { updated_at: `2026-01-01T00:00:${second}Z` } }));
    for (const [title, second] of [
      ["A", 10],
      ["B", 10],
      ["C", 20],
    ] as const)
      await ends((await edit(title, second)).event_id, "succeeded");
    const older = await edit("older", 15);
    expect((await service.get(`/api/webhook-events/${older.event_id}`)).body).toMatchObject({
      outcome: "discarded",
      reason: "it reports an older state of the issue than an event that arrived before it",
      executions: [],
    });
    expect(textsOf(world.tracker, repo, 1)).toHaveLength(3);

    // An event from a clock that is wrong does not make all later ones old.
    for (const [updated_at, occurred_at] of [
      ["2099-01-01T00:00:00Z", null],
      ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"],
    ]) {
      const { event_id } = await send(issueEdited({ repo, number: 9 }, { issue: { updated_at } }));
      expect((await service.get(`/api/webhook-events/${event_id}`)).body).toMatchObject({ outcome: "dispatched", occurred_at });
    }

    const comment = issueCommented({ repo, number: 2, comment: "/stop" });
    const input = { source: "alpha", headers: { "X-GitHub-Event": "issue_comment" }, payload: comment };
    const explained = await service.post<{ tasks: object[] }>("/api/tasks/resolve", input);
    expect(explained.body.tasks).toEqual([expect.objectContaining({ task_id: "first", starts: true })]);
    const stop = await send(comment);
    await ends(stop.event_id, "succeeded");

    // Each of our comments is answered at the time at which it was written, and the tracker delivers the answer after the window.
    let last = await ends((await send(issueOpened({ repo, number: 3 }))).event_id, "succeeded");
    const hops: (number | null)[] = [];
    for (let n = 0; n < 3; n++) {
      const created_at = world.tracker.comments(repo, 3).at(-1)?.createdAt.replace(/\.\d+/, "");
      const arrives = sleep(4_000);
      if (n === 1) {
        await service.kill();
        await service.restart();
      }
      await arrives;
      const late = await send(
        issueCommented({ repo, number: 3, comment: `Late ${n}` }, { comment: { created_at, updated_at: created_at } }),
      );
      last = await ends(late.event_id, "succeeded", "held");
      hops.push(last.hop);
    }
    expect(hops).toEqual([1, 2, 3]);
    expect(last).toMatchObject({
      state: "held",
      held_reason: expect.stringMatching(/^3 events in a row .* LOOP_MAX_HOPS in the settings allows 2/),
    });
    expect((await service.post(`/api/task-executions/${last.id}/release`)).status).toBe(200);
    await eventually(() => expect(textsOf(world.tracker, repo, 3)).toHaveLength(4));
  },
  240_000,
);
