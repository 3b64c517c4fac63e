import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startTracker, type Tracker } from "./tracker.ts";

let tracker: Tracker;
beforeEach(async () => {
  tracker = await startTracker({ token: "t0ken", login: "signalbox-bot" });
  tracker.createIssue({ repo: "octo/app", title: "Login fails", body: "Since Monday.", labels: ["bug"] });
});
afterEach(() => tracker.close());

const call = async (method: string, path: string, body?: unknown, token = "t0ken") => {
  const response = await fetch(tracker.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    // A Blob, because Deno's fetch resends a string body if the connection closes without a response (denoland/deno#35610).
    ...(body === undefined ? {} : { body: new Blob([JSON.stringify(body)]) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
};

describe("the API", () => {
  test("requires the token", async () => {
    expect((await call("GET", "/user")).body).toMatchObject({ login: "signalbox-bot", type: "User" });
    expect(await call("GET", "/user", undefined, "wrong")).toMatchObject({ status: 401, body: { message: "Bad credentials" } });
  });

  test("reads and changes an issue", async () => {
    const path = "/repos/Octo/App/issues/1";
    expect((await call("GET", path)).body).toMatchObject({
      number: 1,
      title: "Login fails",
      state: "open",
      labels: [{ name: "bug" }],
    });
    const closed = await call("PATCH", path, { body: "New text", state: "closed" });
    expect(closed.body).toMatchObject({ body: "New text", state: "closed", state_reason: "completed" });
    expect((await call("GET", "/repos/octo/app")).body).toMatchObject({ full_name: "octo/app", open_issues_count: 0 });
    expect((await call("GET", "/repos/octo/app/issues/99")).status).toBe(404);
    expect((await call("GET", "/repos/octo/none")).status).toBe(404);
    expect((await call("PATCH", path, { title: "" })).status).toBe(422);
  });

  test("pages comments with Link headers that lead to every one of them", async () => {
    for (let i = 1; i <= 7; i++) await call("POST", "/repos/octo/app/issues/1/comments", { body: `no. ${i}` });
    const bodies: string[] = [];
    let next: string | null = "/repos/octo/app/issues/1/comments?per_page=3";
    while (next) {
      const answer = await call("GET", next);
      bodies.push(...answer.body.map((comment: { body: string }) => comment.body));
      next = /<([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1]?.replace(tracker.url, "") ?? null;
    }
    expect(bodies).toEqual([1, 2, 3, 4, 5, 6, 7].map((i) => `no. ${i}`));
    expect(tracker.comments("octo/app", 1)[0]).toMatchObject({ login: "signalbox-bot" });
    expect((await call("GET", "/repos/octo/app/issues/1")).body.comments).toBe(7);
  });

  test("refuses comments as the platform does", async () => {
    const path = "/repos/octo/app/issues/1/comments";
    expect((await call("POST", path, {})).status).toBe(422);
    expect((await call("POST", path, { body: " " })).status).toBe(422);
    expect((await call("POST", path, { body: "x".repeat(65_537) })).status).toBe(422);
    tracker.createIssue({ repo: "octo/app", title: "Locked", locked: true });
    expect((await call("POST", "/repos/octo/app/issues/2/comments", { body: "x" })).status).toBe(403);
    expect(tracker.comments("octo/app", 1)).toEqual([]);
  });

  test("lists issues by since, state, sort and direction", async () => {
    const make = (title: string, createdAt: string, state: "open" | "closed" = "open") =>
      tracker.createIssue({ repo: "octo/list", title, createdAt, state });
    make("old", "2026-01-01T00:00:00Z");
    make("shut", "2026-01-02T00:00:00Z", "closed");
    make("new", "2026-01-03T00:00:00Z");
    const titles = async (query: string) =>
      (await call("GET", `/repos/octo/list/issues?${query}`)).body.map((issue: { title: string }) => issue.title);
    expect(await titles("")).toEqual(["new", "old"]);
    expect(await titles("state=all&direction=asc")).toEqual(["old", "shut", "new"]);
    expect(await titles("state=all&since=2026-01-02T00:00:00Z&sort=updated")).toEqual(["new", "shut"]);
    tracker.comment("octo/list", 1, "bump", "mona");
    expect(await titles("sort=updated")).toEqual(["old", "new"]);
    expect((await call("GET", "/repos/octo/list/issues/comments?since=2026-02-01T00:00:00Z")).body).toMatchObject([
      { body: "bump" },
    ]);
  });

  test("makes labels once and issues", async () => {
    expect((await call("POST", "/repos/octo/app/labels", { name: "Triage", color: "FF00aa" })).status).toBe(201);
    const again = await call("POST", "/repos/octo/app/labels", { name: "triage", color: "000000" });
    expect(again).toMatchObject({
      status: 422,
      body: { errors: [{ resource: "Label", code: "already_exists", field: "name" }] },
    });
    expect((await call("GET", "/repos/octo/app/labels/TRIAGE")).body).toMatchObject({ name: "Triage", color: "ff00aa" });
    expect((await call("POST", "/repos/octo/app/labels", { name: "x", color: "#fff" })).status).toBe(422);
    expect((await call("POST", "/repos/octo/app/issues", { title: "Second" })).body).toMatchObject({
      number: 2,
      user: { login: "signalbox-bot" },
    });
  });

  test("creates any requested issue with autoCreate", async () => {
    const open = await startTracker({ autoCreate: true });
    const response = await fetch(`${open.url}/repos/any/thing/issues/4711`);
    expect(await response.json()).toMatchObject({ number: 4711, body: null, comments: 0 });
    await open.close();
  });
});

describe("faults", () => {
  const path = "/repos/octo/app/issues/1/comments";
  const post = (body = "hello") => call("POST", path, { body });

  test("fail before the request is carried out, as often as configured", async () => {
    tracker.fault({ method: "POST", path: "/comments$", nth: 2, times: 2, status: 429, retryAfter: 7 });
    expect((await post()).status).toBe(201);
    const refused = await post();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "7"]);
    expect((await post()).status).toBe(429);
    expect((await post()).status).toBe(201);
    expect(tracker.comments("octo/app", 1)).toHaveLength(2);
  });

  test("carry out the request, then fail", async () => {
    tracker.fault({ method: "POST", path: "/comments$", after: true, status: 502 });
    expect((await post()).status).toBe(502);
    tracker.fault({ method: "POST", path: "/comments$", nth: 1, after: true, how: "destroy" });
    await expect(post()).rejects.toThrow();
    tracker.fault({ method: "GET", path: "/user$", how: "destroy", times: 2 });
    await expect(call("GET", "/user")).rejects.toThrow();
    tracker.fault({ method: "POST", path: "/comments$", after: true, how: "hang" });
    const leaving = new AbortController();
    const hung = fetch(tracker.url + path, {
      method: "POST",
      body: '{"body":"x"}',
      headers: { authorization: "Bearer t0ken" },
      signal: leaving.signal,
    });
    await vi.waitFor(() => expect(tracker.comments("octo/app", 1)).toHaveLength(3), { timeout: 30_000 });
    await sleep(200);
    leaving.abort();
    await expect(hung).rejects.toThrow(/abort/i);
    const statuses = tracker.requests.filter(({ method }) => method === "POST").map(({ status }) => status);
    expect(statuses).toEqual([502, null, null]);
  });

  test("cut an answer in half, send rubbish, wait, and limit with a 403", async () => {
    tracker.fault({ method: "GET", how: "truncate" });
    await expect(call("GET", "/user")).rejects.toThrow();
    tracker.fault({ method: "GET", how: "rubbish" });
    await expect(call("GET", "/user")).rejects.toThrow(/JSON/);
    tracker.fault({ method: "GET", how: "limit", retryAfter: 1 });
    expect((await call("GET", "/user")).body.message).toMatch(/secondary rate limit/);
    tracker.fault({ method: "GET", delayMs: 120 });
    const start = performance.now();
    expect((await call("GET", "/user")).status).toBe(200);
    expect(performance.now() - start).toBeGreaterThan(110);
  });

  test("are set, listed and cleared over HTTP", async () => {
    expect((await call("POST", "/_control/faults", { path: "/user", times: 0, status: 503 })).status).toBe(201);
    expect((await call("POST", "/_control/faults", { path: "(", status: 503 })).status).toBe(400);
    expect((await call("GET", "/user")).status).toBe(503);
    expect((await call("GET", "/_control/faults")).body).toMatchObject([{ seen: 1, applied: 1 }]);
    expect((await fetch(`${tracker.url}/_control/faults`, { method: "DELETE" })).status).toBe(204);
    expect((await call("GET", "/user")).status).toBe(200);
    expect((await call("GET", "/_control/requests")).body).toMatchObject([
      { path: "/user", status: 503 },
      { path: "/user", status: 200 },
    ]);
    await call("POST", "/_control/issues", { repo: "octo/new", title: "From outside", number: 5 });
    expect((await call("GET", "/_control/comments?repo=octo/new&issue=5")).body).toEqual([]);
  });
});
