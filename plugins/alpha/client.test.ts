import { spawnSync } from "node:child_process";
import { addMarker, inMemoryThrottle } from "@signalbox/sdk";
import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { clients } from "./client.ts";
import { commentBody, findComment, maxCommentLength } from "./comments.ts";
import alpha from "./index.ts";
import { pageOf } from "./paging.ts";
import { settings } from "./settings.ts";
import { shortestOf } from "./test-shortest.ts";
import { AlphaTracker } from "./test-tracker.ts";

const log = () => {};
const throttle = inMemoryThrottle();
const fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init);
const address = { kind: "issue" as const, owner: "octo", repo: "app", issue_number: 1 };
let tracker: AlphaTracker;
beforeEach(async () => {
  tracker = new AlphaTracker().intercept("http://alpha.test", { http, setupServer });
  tracker.addIssue(1, "2026-01-01T00:00:00Z");
});
afterEach(() => tracker.close());
const connection = () => settings.parse({ token: "test-token-1", api_url: `${tracker.url}/` });
const open = async () => {
  const { sources, tools } = await setUpPlugin(alpha);
  if (!sources?.alpha || !tools?.get_issue) throw new Error("alpha has no source or no get_issue tool");
  return { source: sources.alpha, getIssue: tools.get_issue };
};

describe("requests", () => {
  test("a read is retried after a 5xx, a write is not", async () => {
    const { source } = await open();
    tracker.fault({ kind: "status", status: 503, times: 2 });
    expect(await source.account(callContext(connection()))).toBe("signalbox-bot");
    expect(tracker.requests).toHaveLength(3);
    tracker.fault({ kind: "status", status: 503, times: 1 });
    await expect(
      source.deliver({ subject: { project: "octo/app", issue: "1" }, body: "x" }, callContext(connection())),
    ).rejects.toMatchObject({ code: "unavailable" });
    expect(tracker.requests).toHaveLength(4);
  });

  test("a rate limit longer than the deadline is reported with its wait", async () => {
    const { source } = await open();
    tracker.fault({ kind: "status", status: 429, headers: { "retry-after": "30" } });
    const deadlineMs = 2_000;
    const lateMs = async () => {
      const started = performance.now();
      await expect(source.check(callContext(connection(), { deadline_ms: deadlineMs }))).rejects.toMatchObject({
        code: "rate_limited",
        retry_after_ms: 30_000,
      });
      return performance.now() - started - deadlineMs;
    };
    expect(await shortestOf(lateMs, 800)).toBeLessThan(800);
  });

  test("an app's token has no account, and passes the check", async () => {
    tracker.app = true;
    const { source } = await open();
    expect(await source.account(callContext(connection()))).toBeNull();
    await source.check(callContext(connection()));
    expect(tracker.requests.at(-1)?.path).toBe("/rate_limit");
  });

  test("without a token no request is sent", async () => {
    const { source } = await open();
    const bare = settings.parse({ api_url: tracker.url });
    await expect(source.check(callContext(bare))).rejects.toMatchObject({ code: "not_configured", retryable: false });
    expect(tracker.requests).toHaveLength(0);
  });

  test("an error of the host's fetch is passed on unchanged, without a retry", async () => {
    let asked = 0;
    const refusing = () => {
      asked += 1;
      throw Object.assign(new Error("api.example is not granted"), {
        name: "PluginError",
        code: "not_configured",
        retryable: false,
      });
    };
    const client = clients({ fetch: refusing as never, log, throttle })(connection());
    await expect(client.read("GET /user", {}, settings as never, AbortSignal.timeout(60_000))).rejects.toMatchObject({
      code: "not_configured",
      retryable: false,
    });
    expect(asked).toBe(1);
  });

  test("an error whose body breaks off keeps its status, an answer whose body breaks off is a failure", async () => {
    const broken = (status: number) => async () =>
      new Response(new ReadableStream({ start: (stream) => stream.error(new Error("terminated")) }), { status });
    const read = (status: number) =>
      clients({ fetch: broken(status), log, throttle })(connection()).read(
        "GET /user",
        {},
        z.object({}),
        AbortSignal.timeout(60_000),
      );
    await expect(read(401)).rejects.toMatchObject({ code: "unauthorized" });
    await expect(read(200)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("a token or a value that no request can contain is refused before anything is sent", async () => {
    let sent = 0;
    const counting = async () => Response.json({ sent: sent++ });
    const read = (token: string, owner: string) =>
      clients({ fetch: counting, log, throttle })({ ...connection(), token }).read(
        "GET /repos/{owner}",
        { owner },
        z.object({}),
        AbortSignal.timeout(60_000),
      );
    const copied = "alpha: the header authorization has a character that HTTP does not allow; check the token";
    await expect(read("abc…", "octo")).rejects.toMatchObject({ code: "unauthorized", message: copied });
    const half = 'alpha: the value of "owner" has half of a surrogate pair, which no URL can contain';
    await expect(read("abc", "\ud83d")).rejects.toMatchObject({ name: "PluginError", code: "invalid_input", message: half });
    expect(sent).toBe(0);
  });

  test("comments to a self-hosted server are not throttled", async () => {
    const { source } = await open();
    const post = { subject: { project: "octo/app", issue: "1" }, body: "x" };
    // With the interval of the public platform these would take ten minutes, far longer than the test's timeout.
    await Promise.all(Array.from({ length: 200 }, () => source.deliver(post, callContext(connection()))));
    expect(tracker.comments(post.subject)).toHaveLength(200);
  });

  test("the client does not keep a process alive", async () => {
    const script = `
      import { callContext, fakeCapabilities, setUpPlugin } from "@signalbox/sdk/testing";
      import alpha from ${JSON.stringify(new URL("index.ts", import.meta.url).href)};
      const fetch = async () => Response.json({ id: 1, html_url: "u", login: "x" });
      const { sources } = await setUpPlugin(alpha, { capabilities: fakeCapabilities({ fetch }) });
      const connection = sources.alpha.connection.parse({ token: "t" });
      await sources.alpha.deliver({ subject: { project: "o/r", issue: "1" }, body: "x" }, callContext(connection, { deadline_ms: 60_000 }));
      console.log(await sources.alpha.account(callContext(connection, { deadline_ms: 60_000 })));
      const done = performance.now();
      process.on("exit", () => console.log(performance.now() - done));`;
    const aliveMs = () => {
      const ended = spawnSync("node", ["--input-type=module", "-e", script], {
        cwd: import.meta.dirname,
        timeout: 60_000,
        encoding: "utf8",
      });
      const [account, ms] = ended.stdout.trim().split("\n");
      expect(account, ended.stderr).toBe("x");
      return Number(ms);
    };
    expect(await shortestOf(aliveMs, 2_000)).toBeLessThan(2_000);
  }, 200_000);
});

describe("comments", () => {
  test("a comment that is too long is cut, has a note about it, and is found", () => {
    const body = commentBody(`${"ä😀".repeat(40_000)}`, "key-1");
    expect(body.length).toBeLessThanOrEqual(maxCommentLength);
    expect(body.isWellFormed()).toBe(true);
    expect(body).toMatch(/^<!-- signalbox:key-1 -->\n> \*\*Cut off\.\*\* This text has 120000 characters/);
    expect(commentBody("short", "k")).toBe(addMarker("short", "k"));
  });

  test("find reads the newest pages first", async () => {
    for (let count = 0; count < 450; count++) tracker.addComment(1, count === 390 ? addMarker("here", "key-9") : `${count}`);
    const client = clients({ fetch, log, throttle })(connection());
    expect(await findComment(client, address, "key-9", AbortSignal.timeout(60_000))).toMatchObject({
      url: expect.stringContaining("issuecomment"),
    });
    expect(tracker.requests.map((request) => request.query.get("page"))).toEqual(["1", "5", "4"]);
    expect(await findComment(client, address, "key-8", AbortSignal.timeout(60_000))).toBeNull();
  });

  test("get_issue shows the last 30 comments, oldest first, without the marker", async () => {
    for (let count = 0; count < 65; count++) tracker.addComment(1, addMarker(`note ${count}`, "k"), undefined, "eve");
    const { getIssue } = await open();
    const read = (await getIssue.run({ issue: "octo/app#1" }, callContext(connection()) as never)) as { comments: unknown[] };
    expect(read.comments).toHaveLength(30);
    const note = (n: number) => ({
      author: "eve",
      standing: null,
      body: `note ${n}`,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(read.comments[0]).toEqual(note(35));
    expect(read.comments.at(-1)).toEqual(note(64));
  });

  test("pageOf takes linear time", () => expect(pageOf("<".repeat(1 << 20), "next")).toBeNull());

  test("pageOf reads Link headers", () => {
    const link = '<https://h/x?per_page=100&page=2>; rel="next", <https://h/x?page=17&per_page=100>; rel="last"';
    expect([pageOf(link, "next"), pageOf(link, "last"), pageOf(link, "prev"), pageOf("", "next"), pageOf("<", "next")]).toEqual([
      2,
      17,
      null,
      null,
      null,
    ]);
  });
});
