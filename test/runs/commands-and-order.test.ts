import { describe, expect, test } from "vitest";
import { issueClosed, issueCommented, issueDeleted, issueEdited, issueOpened } from "../harness/alpha-payloads.ts";
import { limitedWorld } from "../harness/limited-world.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { issueOf, textsOf } from "../harness/world.ts";

const limited = limitedWorld();
const { project, send, only, comment, editInARow, event } = limited;

describe("commands and order", () => {
  test.concurrent("/retry restarts the last failed execution of the issue, and says so", async () => {
    const repo = await project({});
    limited.world.model.answerWith({ when: `${repo}#1\\.`, reply: { status: 400 } });
    const { event_id } = await send(issueOpened({ repo, number: 1 }));
    const failed = await only(event_id, "failed");
    const command = await comment(repo, 1, "/retry");
    expect(await event(command.event_id)).toMatchObject({
      outcome: "dispatched",
      reason: expect.stringMatching(new RegExp(`^/retry by .*: restarted execution ${failed.id}$`)),
    });
    await only(event_id, "succeeded");
    const again = await comment(repo, 1, "/retry");
    expect((await event(again.event_id)).reason).toMatch(/nothing on this issue has failed/);
  });

  test.concurrent("a command is acknowledged by a reaction to its comment: whether it had an effect; a refused one is not", async () => {
    const repo = await project({});
    const { tracker } = limited.world;
    tracker.createIssue({ repo, number: 1, title: "Commands" });
    const say = async (text: string, author_association: string) => {
      const { id } = tracker.comment(repo, 1, text, "mona");
      const payload = issueCommented({ repo, number: 1, comment: text }, { comment: { id, author_association } });
      await send(payload);
      return () => tracker.reactions(repo, { comment: id });
    };
    const refused = await say("/stop", "NONE");
    const [stop, retry] = [await say("/stop", "OWNER"), await say("/retry", "OWNER")];
    await eventually(() => expect([stop(), retry()]).toEqual([["+1"], ["confused"]]));
    expect(refused()).toEqual([]);
  });

  test.concurrent("on_close finish: runs of a closed issue finish with their comment", async () => {
    const repo = await project({ on_close: "finish" });
    limited.world.model.answerWith({ when: `Finish ${repo}`, reply: { content: "Finished.", delayMs: 500 }, times: 0 });
    const opened = await send(issueOpened({ repo, number: 1, title: `Finish ${repo}` }));
    await eventually(() => limited.world.model.chats().some((request) => issueOf(request) === `${repo}#1`));
    const close = await send(issueClosed({ repo, number: 1 }));
    for (const { event_id } of [opened, close]) await only(event_id, "succeeded");
    expect(textsOf(limited.world.tracker, repo, 1)).toEqual(["Done.", "Finished."]);
  });

  test.concurrent("/stop cancels everything on the issue and starts nothing; strangers may not use it", async () => {
    const repo = await project({ issue_runs_per_hour: 1 });
    await only((await send(issueOpened({ repo, number: 1 }))).event_id, "succeeded");
    const { event_id } = await send(issueOpened({ repo, number: 1 }));
    await only(event_id, "held");
    const stranger = issueCommented({ repo, number: 1, comment: "/stop" });
    (stranger as { comment: { author_association: string } }).comment.author_association = "NONE";
    expect(await event((await send(stranger)).event_id)).toMatchObject({
      outcome: "discarded",
      reason: expect.stringMatching(/requires the standing collaborator or higher/),
    });
    const command = await comment(repo, 1, "/stop");
    expect(await event(command.event_id)).toMatchObject({
      outcome: "dispatched",
      reason: expect.stringMatching(/^\/stop by .*: 1 execution cancelled$/),
    });
    expect(await only(event_id, "cancelled")).toMatchObject({ reason: expect.stringContaining(command.event_id) });
    expect((await waitForExecutions(limited.world.service, { event_id, count: 1 })).length).toBe(1);
  });

  test.concurrent("a close cancels runs of earlier events, and its own tasks run", async () => {
    const repo = await project({});
    limited.world.model.answerWith({ when: `Hang ${repo}`, reply: { hang: true }, times: 0 });
    const opened = await send(issueOpened({ repo, number: 1, title: `Hang ${repo}` }));
    await only(opened.event_id, "running");
    await eventually(() => limited.world.model.chats().some((request) => issueOf(request) === `${repo}#1`));
    const edited = await send(issueEdited({ repo, number: 1 }));
    const close = await send(issueClosed({ repo, number: 1 }));
    for (const { event_id } of [opened, edited])
      expect(await only(event_id, "cancelled")).toMatchObject({ reason: `the issue was closed (event ${close.event_id})` });
    await only(close.event_id, "succeeded");
    expect(textsOf(limited.world.tracker, repo, 1)).toHaveLength(1);
  });

  test.concurrent("deleting the issue cancels what runs, waits and is held there, and nothing of it is posted", async () => {
    const repo = await project({ issue_runs_per_hour: 1 });
    await only((await send(issueOpened({ repo, number: 1 }))).event_id, "succeeded");
    const held = await comment(repo, 1, "And this?");
    await only(held.event_id, "held");
    limited.world.model.answerWith({ when: `${repo}#2`, reply: { hang: true }, times: 0 });
    const running = await send(issueOpened({ repo, number: 2 }));
    await eventually(() => limited.world.model.chats().some((request) => issueOf(request) === `${repo}#2`));
    const queued = await comment(repo, 2, "And this?");
    for (const [number, cancelled] of [
      [1, [held]],
      [2, [running, queued]],
    ] as const) {
      const { event_id, status } = await send(issueDeleted({ repo, number }));
      expect(status).toBe("discarded");
      for (const one of cancelled)
        expect(await only(one.event_id, "cancelled")).toMatchObject({ reason: `the issue was closed (event ${event_id})` });
    }
    expect(textsOf(limited.world.tracker, repo, 2)).toEqual([]);
  });

  test.concurrent("a merge request that is merged cancels its runs, though no mapping names the merge", async () => {
    const about = (action: string) => ({
      object_kind: "merge_request",
      user: { id: 7, username: "ann", name: "Ann" },
      project: { id: 77, path_with_namespace: "octo/merged" },
      object_attributes: { id: 1, iid: 4, title: "Faster", description: "hang on merge", state: "opened", action },
    });
    const headers = { "x-gitlab-event": "Merge Request Hook" };
    limited.world.model.answerWith({ when: "octo/merged#!4", reply: { hang: true }, times: 0 });
    const hook = async (action: string) => {
      const { status, body } = await limited.world.service.post<{ event_id: string }>("/webhook/beta", about(action), {
        headers,
      });
      expect(status).toBeLessThan(203);
      return body.event_id;
    };
    const opened = await hook("open");
    await eventually(() => limited.world.model.chats().some((request) => JSON.stringify(request).includes("octo/merged#!4")));
    const merged = await hook("merge");
    expect(await only(opened, "cancelled")).toMatchObject({ reason: `the issue was closed (event ${merged})` });
  });

  test.concurrent("edits in a row make one run with all changes; comments are not joined", async () => {
    const repo = await project({});
    const { number, events } = await editInARow(repo, 5);
    const states = await Promise.all(events.map((event_id) => only(event_id)));
    expect(states.map(({ state }) => state)).toEqual([...Array(4).fill("cancelled"), "succeeded"]);
    expect(states[0]?.reason).toBe(`superseded by event ${events[1]}`);
    expect(textsOf(limited.world.tracker, repo, number)).toHaveLength(1);
  });
});
