import { afterAll, beforeAll, expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { anyDatabase } from "../harness/databases.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, issueOf, plainScript, roundsOf, startWorld, textsOf, token, type World } from "../harness/world.ts";

/** The details of its network that a proxy's error may contain. */
const hosts = "connect ECONNREFUSED llm.internal:4000 at http://10.1.2.3:4000/v1 and [fd00::1]:80";
const repo = "octo/app";

describeOnDatabases("the living comment", (database) => {
  let world: World;
  let issue = 0;
  let count = 0;
  /** The model answers about an issue once its promise resolves. */
  const thinking = new Map<string, Promise<void>>();
  /** Issues about which the model repeats the secrets that it has read. */
  const telling = new Set<string>();
  const script = async (request: ChatRequest, number: number) => {
    if (roundsOf(request) === 0) return callOf("get_issue", request);
    await thinking.get(issueOf(request));
    if (telling.delete(issueOf(request)))
      return { raw: { choices: [{ message: { content: null, refusal: `No: ${token} (${hosts})` }, finish_reason: "stop" }] } };
    const { content } = (await plainScript(request, number)) as { content: string };
    return { content: `${content} (${++count})` };
  };
  beforeAll(async () => {
    world = await startWorld({ database, tasks: ["first"], env: { EXECUTION_RETRY_LIMIT: "0" }, script });
    const policy = { presence: "comment" };
    expect((await world.service.put("/api/agents/pm_default", { policy })).status).toBe(200);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const think = (number = ++issue) => {
    let answer = () => {};
    thinking.set(`${repo}#${number}`, new Promise<void>((done) => (answer = done)));
    return { number, answer };
  };
  const open = async (number: number) => (await world.service.webhook(issueOpened({ repo, number }))).body.event_id;
  const texts = (number: number) => textsOf(world.tracker, repo, number);
  const shows = (number: number, ...parts: (string | RegExp)[]) =>
    eventually(
      () => {
        expect(texts(number)).toEqual(parts.map((part) => expect.stringMatching(part)));
        return true;
      },
      { timeout: 40_000 },
    );
  const ends = async (event_id: string, state: string) => {
    const [execution] = await waitForExecutions(world.service, { event_id, timeout: 60_000 });
    expect({ state: execution?.state, error: state === "failed" ? null : execution?.error }).toEqual({ state, error: null });
    return execution;
  };
  const edits = (number: number, text: string) =>
    world.tracker.requests.filter(
      ({ method, body }) =>
        (method === "PATCH" || method === "POST") && JSON.stringify(body ?? "").includes(text) && texts(number).length > 0,
    ).length;

  test("kill -9 when it is created, while it is edited, and at the final edit: one comment, each text sent once", async () => {
    const { number, answer } = think();
    const path = `/issues/(${number}/)?comments`;
    const created = world.tracker.fault({ method: "POST", path, after: true, how: "hang" });
    const event = await open(number);
    await eventually(() => created.applied === 1, { timeout: 30_000 });
    await world.service.kill();
    await world.service.restart();
    await shows(number, /is working on this/);
    const final = world.tracker.fault({ method: "PATCH", path, after: true, how: "hang" });
    answer();
    await eventually(() => expect(texts(number)[0]).toMatch(/^Answer of first/) ?? true, { timeout: 60_000 });
    expect(final.applied).toBe(1);
    await world.service.kill();
    await world.service.restart();
    const ended = await ends(event, "succeeded");
    await shows(number, /^Answer of first/);
    expect(edits(number, String(texts(number)[0]))).toBe(1);
    const [comment] = world.tracker.comments(repo, number);
    expect(ended?.result_url).toContain(`#issuecomment-${comment?.id}`);
  });

  // Only a crash depends on the database.
  if (database !== anyDatabase()) return;
  test("several runs edit one comment in place", async () => {
    const { number, answer } = think();
    const first = await open(number);
    await shows(number, /is working on this\.\n\n- `alpha\.get_issue`/);
    const [comment] = world.tracker.comments(repo, number);
    answer();
    const ended = await ends(first, "succeeded");
    await shows(number, /^Answer of first \(\d+\)$/);
    expect(ended?.result_url).toContain(`#issuecomment-${comment?.id}`);
    // A later run, too short to be shown as working, edits the same comment.
    await ends(await open(number), "succeeded");
    await shows(number, /^Answer of first \(\d+\)$/);
    expect(world.tracker.comments(repo, number).map(({ id }) => id)).toEqual([comment?.id]);
    expect(world.tracker.reactions(repo, { issue: number })).toEqual([]);
  });

  test("a failure says why; a cancelled run shows again what was there before", async () => {
    world.model.fault({ path: "chat", how: "status", status: 400 });
    await ends(await open(++issue), "failed");
    await shows(issue, /could not finish this: `.*400/);
    telling.add(`${repo}#${issue}`);
    await ends(await open(issue), "failed");
    await shows(issue, /could not finish this: `.*refused.*\[redacted\]/);
    await shows(issue, /\(connect ECONNREFUSED \[address\] at \[address\] and \[address\]\)/);
    expect(texts(issue).join()).not.toContain(token);
    // The reason quotes the model, whose comments need approval now.
    const setPolicy = async (policy: object) =>
      expect((await world.service.put("/api/agents/pm_default", { policy: { presence: "comment", ...policy } })).status).toBe(
        200,
      );
    await setPolicy({ approve: ["comment"] });
    telling.add(`${repo}#${issue}`);
    expect((await ends(await open(issue), "failed"))?.error).toMatch(/refused/);
    await shows(issue, /could not finish this: `its run shows the reason, because comments need approval here`/);
    await setPolicy({});
    await ends(await open(issue), "succeeded");
    await shows(issue, /^Answer of first/);
    const [before] = texts(issue);
    for (const [number, ...left] of [[issue, String(before)], [issue + 1]] as [number, ...string[]][]) {
      think(number);
      const event_id = await open(number);
      await shows(number, /is working on this/);
      const [running] = await waitForExecutions(world.service, { event_id, state: "running" });
      expect((await world.service.post(`/api/task-executions/${running?.id}/cancel`)).status).toBe(200);
      await eventually(() => expect(texts(number)).toEqual(left) ?? true, { timeout: 30_000 });
    }
    issue++;
  });

  test("deleted by a person: the next answer is a new comment", async () => {
    await ends(await open(++issue), "succeeded");
    const { tracker } = world;
    const [comment] = tracker.comments(repo, issue);
    await fetch(`${tracker.url}/repos/${repo}/issues/comments/${comment?.id}`, {
      method: "DELETE",
      headers: { authorization: "token tracker-token" },
    });
    expect(texts(issue)).toEqual([]);
    await ends(await open(issue), "succeeded");
    await shows(issue, /^Answer of first/);
  });
});
