import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HttpResponse, http as httpHandler } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RecordedTracker, readRecordings, recordingFetch } from "./recordings.ts";

let folder: string;
const base = "https://other-side.test";
const server = setupServer(
  httpHandler.post(`${base}/items`, () =>
    HttpResponse.json({ id: 1 }, { status: 201, headers: { "x-request-id": "7", link: "<next>" } }),
  ),
);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-recordings-"));
  server.listen({ onUnhandledRequest: "error" });
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const url = "https://api.example.com/items";
const recording = (status: number, body: unknown, request: object = {}) => ({
  request: { method: "GET", url, ...request },
  response: { status, body },
});

test("recordings are played back, without the request's headers", async () => {
  const http = join(folder, "new");
  const recordings = readRecordings(http);
  const fetch = recordingFetch(http, recordings);
  const headers = { authorization: "Bearer hidden", "content-type": "application/json" };
  const real = await fetch(`${base}/items`, { method: "POST", headers, body: '{"name":"a"}' });
  expect([real.status, await real.json()]).toEqual([201, { id: 1 }]);
  const [file = ""] = readdirSync(http);
  const written = readFileSync(join(http, file), "utf8");
  expect(written).not.toContain("hidden");
  expect(JSON.parse(written)).toEqual({
    request: { method: "POST", url: `${base}/items`, body: { name: "a" } },
    response: { status: 201, headers: { "content-type": "application/json", link: "<next>" }, body: { id: 1 } },
  });
  const recorded = new RecordedTracker(readRecordings(http));
  // The order of an object's members has no meaning.
  const again = await recorded.fetch(`${base}/items`, { method: "POST", headers, body: '{ "name": "a" }' });
  expect([again.status, again.headers.get("link"), await again.json()]).toEqual([201, "<next>", { id: 1 }]);
  expect(recorded.writes()).toBe(1);
});

test("responses to equal requests come in turn; a request without a recording is named", async () => {
  const recorded = new RecordedTracker([
    recording(200, []),
    recording(200, [1]),
    recording(200, "b", { method: "POST", body: "text" }),
  ]);
  const read = async () => (await recorded.fetch(url)).json();
  expect([await read(), await read(), await read()]).toEqual([[], [1], [1]]);
  await expect(recorded.fetch(url, { method: "POST", body: "other" })).rejects.toThrow("fetch failed");
  expect(await (await recorded.fetch(url, { method: "POST", body: "text" })).text()).toBe("b");
  expect([...recorded.unansweredRequests]).toEqual([`POST ${url} other`]);
  expect(await recorded.answers(`${url}/9`)).toBe(false);
});

test("faults of the server", async () => {
  const recorded = new RecordedTracker([recording(200, { long: "x".repeat(100) }), recording(201, {}, { method: "POST" })]);
  recorded.fault({ kind: "status", status: 503, headers: { "retry-after": "5" }, times: 1 });
  const refused = await recorded.fetch(url);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  expect((await recorded.fetch(url)).status).toBe(200);
  recorded.fault({ kind: "truncate" });
  await expect(recorded.fetch(url).then((answer) => answer.text())).rejects.toThrow();
  recorded.fault({ kind: "hang" });
  await expect(recorded.fetch(url, { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({ name: "TimeoutError" });
  recorded.fault({ kind: "drop", after: true, writes: true });
  expect((await recorded.fetch(url)).status).toBe(200);
  await expect(recorded.fetch(url, { method: "POST" })).rejects.toThrow("fetch failed");
  expect(recorded.writes()).toBe(1);
  recorded.heal();
  expect((await recorded.fetch(url, { method: "POST" })).status).toBe(201);
});

test("an invalid recording is named", () => {
  const http = join(folder, "wrong");
  mkdirSync(http);
  writeFileSync(join(http, "a.json"), '{"request": {"method": "GET"}}');
  expect(() => readRecordings(http)).toThrow(/a\.json is not a valid recording/);
  writeFileSync(join(http, "a.json"), "{");
  expect(() => readRecordings(http)).toThrow(/a\.json is not valid JSON/);
});
