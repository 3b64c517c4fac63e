import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { anyDatabase } from "../harness/databases.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { commentingScript, startWorld, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";

interface Proposal {
  readonly id: string;
  readonly kind: string;
  readonly tool: string | null;
  readonly target: string;
  readonly parameters: Record<string, unknown> | null;
  readonly body: string | null;
  readonly state: string;
  readonly error: string | null;
  readonly url: string | null;
  readonly decided_by: string | null;
}
interface Execution {
  readonly id: string;
  readonly state: string;
  readonly error: string | null;
  readonly result: string | null;
  readonly result_url: string | null;
  readonly waiting_for: string | null;
  readonly proposals: readonly Proposal[];
  readonly transcript: readonly { kind: string; state: string; output: unknown; error: string | null }[];
}

describeOnDatabases("approval", (database) => {
  let world: World;
  let issue = 0;
  beforeAll(async () => {
    world = await startWorld({ database, tasks: ["first"], script: commentingScript });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const policy = async (policy: object) =>
    expect((await world.service.put("/api/agents/pm_default", { policy })).status).toBe(200);
  /** Opens an issue and waits for its execution to wait. */
  const proposed = async (number = ++issue) => {
    const { body } = await world.service.webhook(issueOpened({ repo, number }));
    const [execution] = await waitForExecutions(world.service, { event_id: body.event_id, state: "waiting" });
    return { id: String(execution?.id), number, texts: () => textsOf(world.tracker, repo, number) };
  };
  const read = async (id: string) => (await world.service.get<Execution>(`/api/task-executions/${id}`)).body;
  const decide = (id: string, verdict: "approve" | "reject", body: object = {}) =>
    world.service.post<Execution>(`/api/task-executions/${id}/${verdict}`, body);
  const ends = (id: string, state: string) =>
    eventually(
      async () => {
        const execution = await read(id);
        if (execution.state !== state) throw new Error(`it is ${execution.state}: ${execution.error}`);
        return execution;
      },
      { timeout: 30_000 },
    );

  test("kill -9 while it waits, and at each write: everything is written once", async () => {
    await policy({ staged: true });
    const { id, number, texts } = await proposed();
    await world.service.kill();
    await world.service.restart();
    expect((await read(id)).state).toBe("waiting");
    const path = `/issues/${number}/comments`;
    // For both writes, because the second one may begin before `restart` returns.
    const fault = world.tracker.fault({ method: "POST", path, after: true, how: "hang", times: 2 });
    expect((await decide(id, "approve")).status).toBe(200);
    for (const count of [1, 2]) {
      await eventually(() => texts().length >= count);
      await world.service.kill();
      await world.service.restart();
    }
    const done = await ends(id, "succeeded");
    expect(fault.applied).toBe(2);
    expect(texts()).toEqual(["Answer of first", "Note of first"]);
    expect(done.proposals.map(({ state }) => state)).toEqual(["applied", "applied"]);
  });

  test("cancelled while it runs or is queued: proposals are rejected, whether they are decided or not", async () => {
    await policy({ staged: true });
    const cancelled = async (id: string) => {
      expect((await world.service.post(`/api/task-executions/${id}/cancel`)).status).toBe(200);
      return (await read(id)).proposals.map(({ state, error, decided_by }) => ({ state, error, decided_by }));
    };
    const rejected = { state: "rejected", error: "The execution was cancelled.", decided_by: null };

    // The model has proposed a comment, and has not answered yet.
    world.model.answerWith({ when: "a person has to approve it first", reply: { hang: true } });
    const { body } = await world.service.webhook(issueOpened({ repo, number: ++issue }));
    const running = String(body.executions?.[0]?.id);
    await eventually(async () => (await read(running)).proposals.length > 0);
    expect(await cancelled(running)).toEqual([rejected]);

    const partly = await proposed();
    const [note] = (await read(partly.id)).proposals;
    const pause = { scope: "all", reason: "to decide before it is written" };
    expect((await world.service.post("/api/pause", pause)).status).toBe(200);
    expect((await decide(partly.id, "approve", { proposals: [note?.id] })).body.state).toBe("queued");
    const error = "It was approved, but the execution was cancelled before it was written.";
    expect(await cancelled(partly.id)).toEqual([{ ...rejected, error }, rejected]);
    expect((await world.service.post("/api/resume", { scope: "all" })).status).toBe(200);
    expect(partly.texts()).toEqual([]);
  });

  // Only crashes and triggers depend on the database.
  if (database !== anyDatabase()) return;
  test("staged: every write is proposed, and written in parts, in order, as it was proposed", async () => {
    await policy({ staged: true });
    const { id, number, texts } = await proposed();
    const waiting = await read(id);
    expect(waiting).toMatchObject({
      result: "Answer of first",
      result_url: null,
      error: null,
      waiting_for: "approval of 2 proposals: alpha.add_comment, the comment",
    });
    const target = `alpha:${repo}#${number}`;
    expect(waiting.proposals).toMatchObject([
      { kind: "tool", tool: "alpha.add_comment", target, parameters: { body: "Note of first" }, body: null, state: "proposed" },
      { kind: "comment", tool: null, target, parameters: null, body: "Answer of first", state: "proposed" },
    ]);
    expect(waiting.transcript.find(({ kind }) => kind === "tool")).toMatchObject({
      state: "proposed",
      output: { proposed: true },
    });
    expect(texts()).toEqual([]);

    // Another execution on the same issue is not blocked.
    await proposed(number);

    const [note, answer] = waiting.proposals;
    expect((await decide(id, "approve", { proposals: [answer?.id] })).body.state).toMatch(/queued|running|waiting/);
    const partly = await ends(id, "waiting");
    expect(partly.proposals.map(({ state }) => state)).toEqual(["proposed", "applied"]);
    expect(texts()).toEqual(["Answer of first"]);
    expect((await decide(id, "approve", { proposals: [answer?.id, note?.id] })).status).toBe(409);
    expect((await decide(id, "approve")).status).toBe(200);
    const done = await ends(id, "succeeded");
    expect(done.proposals).toMatchObject([
      { state: "applied", decided_by: "anonymous" },
      { state: "applied", decided_by: "anonymous", url: done.result_url },
    ]);
    expect(done.result_url).toContain("#issuecomment-");
    expect(texts()).toEqual(["Answer of first", "Note of first"]);
    expect((await decide(id, "approve")).status).toBe(409);
    const { body: log } = await world.service.get<{ actor: string; object: string }[]>(
      "/api/audit-log?operation=task-executions.approve",
    );
    expect(log.filter(({ object }) => object === `task-executions/${id}`)).toHaveLength(2);
  });

  test("writes that the policy does not name happen at once", async () => {
    await policy({ approve: ["alpha.*"] });
    const byTool = await proposed();
    expect((await read(byTool.id)).proposals).toMatchObject([{ tool: "alpha.add_comment", state: "proposed" }]);
    expect(byTool.texts()).toEqual(["Answer of first"]);
    await decide(byTool.id, "approve");
    expect(await ends(byTool.id, "succeeded")).toMatchObject({ result_url: expect.stringContaining("#issuecomment-") });
    expect(byTool.texts()).toEqual(["Answer of first", "Note of first"]);

    await policy({ approve: ["comment"] });
    const answer = await proposed();
    expect((await read(answer.id)).proposals).toMatchObject([{ kind: "comment", state: "proposed" }]);
    expect(answer.texts()).toEqual(["Note of first"]);
  });

  test("rejected or cancelled: nothing is written, and the transcript says why", async () => {
    await policy({ staged: true });
    const { id, texts } = await proposed();
    const { status, body } = await decide(id, "reject", { reason: "not now" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ state: "cancelled", error: "Rejected by anonymous: not now", waiting_for: null });
    const rejected = await read(id);
    expect(rejected.proposals.map(({ state, error }) => ({ state, error }))).toEqual(
      Array(2).fill({ state: "rejected", error: "Rejected by anonymous: not now" }),
    );
    expect(rejected.transcript.at(-1)).toMatchObject({
      kind: "post",
      state: "rejected",
      error: "Rejected by anonymous: not now",
    });
    for (const verdict of ["approve", "reject"] as const) expect((await decide(id, verdict)).status).toBe(409);
    const cancelled = await proposed();
    expect((await world.service.post(`/api/task-executions/${cancelled.id}/cancel`)).status).toBe(200);
    expect((await read(cancelled.id)).proposals.map(({ state }) => state)).toEqual(["rejected", "rejected"]);
    expect([...texts(), ...cancelled.texts()]).toEqual([]);
  });

  test("a write that the tracker refuses for good fails; the others are written", async () => {
    await policy({ staged: true });
    const { id, number, texts } = await proposed();
    const path = `/issues/${number}/comments`;
    world.tracker.fault({ method: "POST", path, how: "status", status: 422 });
    await decide(id, "approve");
    const failed = await ends(id, "failed");
    expect(failed.error).toContain("An approved proposal could not be written: alpha.add_comment: ");
    expect(failed.proposals.map(({ state }) => state)).toEqual(["failed", "applied"]);
    expect(texts()).toEqual(["Answer of first"]);
  });

  test("proposals expire, and cannot be approved any more", async () => {
    await policy({ staged: true });
    await world.service.restart({ APPROVAL_TTL_DAYS: "0.00002" });
    // Its proposals may expire before anyone sees that it waits.
    const number = ++issue;
    const { body } = await world.service.webhook(issueOpened({ repo, number }));
    const expired = await ends(String(body.executions?.[0]?.id), "cancelled");
    const { id } = expired;
    expect(expired.error).toBe("It was not approved in time.");
    expect(expired.proposals.map(({ state }) => state)).toEqual(["expired", "expired"]);
    expect((await decide(id, "approve")).status).toBe(409);
    expect(textsOf(world.tracker, repo, number)).toEqual([]);
    const { body: log } = await world.service.get<{ actor: string }[]>(`/api/audit-log?object=task-executions/${id}`);
    expect(log).toMatchObject([{ actor: "signalbox" }]);
  });

  test("dry runs propose nothing", async () => {
    await policy({ staged: true });
    await world.service.restart({ TRACKER_UPDATES_ENABLED: "false" });
    const { body } = await world.service.webhook(issueOpened({ repo, number: ++issue }));
    const [execution] = await waitForExecutions(world.service, { event_id: body.event_id });
    expect(execution?.state).toBe("succeeded");
    const { proposals, transcript } = await read(String(execution?.id));
    expect(proposals).toEqual([]);
    expect(transcript.filter(({ state }) => state === "dry_run")).toHaveLength(2);
  });

  test("proposals approved while nothing is written fail, and say why", async () => {
    await policy({ staged: true });
    await world.service.restart();
    const { id, texts } = await proposed();
    await world.service.restart({ TRACKER_UPDATES_ENABLED: "false" });
    await decide(id, "approve");
    expect((await ends(id, "failed")).proposals.map(({ state, error }) => `${state}: ${error}`)).toEqual([
      "failed: Nothing was written: TRACKER_UPDATES_ENABLED is false.",
      "failed: nothing was posted: TRACKER_UPDATES_ENABLED is false",
    ]);
    expect(texts()).toEqual([]);
  });
});
