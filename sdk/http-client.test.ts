import { describe, expect, test } from "vitest";
import { z } from "zod";
import { httpClient } from "./http-client.ts";
import { rateLimitOf, redact } from "./http-errors.ts";

/** The error that a client throws if the platform answers 400 with this body. */
function errorOf(body: string): Promise<unknown> {
  const client = httpClient({
    platform: "beta",
    base: "https://beta.example",
    headers: {},
    secrets: ["s3cret"],
    fetch: async () => new Response(body, { status: 400 }),
  });
  return client.read({ route: "GET /x", schema: z.unknown(), signal: AbortSignal.timeout(60_000) }).catch((error) => error);
}

test("a token with a character that no header can carry is refused before anything is sent", async () => {
  let sent = 0;
  const fetch = async () => new Response(String(sent++));
  const headers = { authorization: "Bearer abc…" };
  const client = httpClient({ platform: "beta", base: "https://beta.example", headers, secrets: ["abc…"], fetch });
  const failure = client.read({ route: "GET /x", schema: z.unknown(), signal: AbortSignal.timeout(60_000) });
  await expect(failure).rejects.toMatchObject({
    code: "unauthorized",
    message: "beta: the header authorization has a character that HTTP does not allow; check the token",
  });
  expect(sent).toBe(0);
});

test.each([
  ["abc\r\n", "sent"],
  ["a\nbc", "unauthorized"],
  ["abc\ufeff", "unauthorized"],
])("the token %j is %s, as by fetch", async (token, expected) => {
  const fetch = async () => new Response('"sent"');
  const client = httpClient({
    platform: "beta",
    base: "https://beta.example",
    headers: { authorization: token },
    secrets: [],
    fetch,
  });
  const answer = client.read({ route: "GET /x", schema: z.string(), signal: AbortSignal.timeout(60_000) });
  expect(
    await answer.then(
      ({ data }) => data,
      ({ code }) => code,
    ),
  ).toBe(expected);
});

test.each([
  [302, "https://login.example/start?state=1", "unavailable"],
  [307, "/login", "unavailable"],
  [307, "/api-login", "unavailable"],
  // A moved project.
  [307, "/api/projects/5", "failed"],
  [308, "https://new.example/api/projects/5", "failed"],
])("a write that is answered %i to %s is %s", async (status, location, code) => {
  const fetch = async () => new Response(null, { status, headers: { location } });
  const client = httpClient({ platform: "beta", base: "https://beta.example/api", headers: {}, secrets: [], fetch });
  const host = new URL(location, "https://beta.example").host;
  const error = { code, ...(code === "unavailable" && { message: expect.stringContaining(`redirects to ${host}, `) }) };
  const sent = client.write({ route: "POST /x", schema: z.unknown(), signal: AbortSignal.timeout(60_000) });
  await expect(sent).rejects.toMatchObject(error);
});

test("half of a surrogate pair in a path is refused by a rejected promise", async () => {
  const client = httpClient({ platform: "beta", base: "https://beta.example", headers: {}, secrets: [], fetch });
  const sent = { route: "GET /{project}", path: { project: "\ud83d" }, schema: z.unknown(), signal: AbortSignal.timeout(60_000) };
  const message = 'beta: the value of "project" has half of a surrogate pair, which no URL can contain';
  await expect(client.read(sent)).rejects.toMatchObject({ name: "PluginError", code: "invalid_input", message });
});

test("a secret that may be part of ordinary words is not removed from errors", () => {
  expect(redact("none of these is an issue", ["e", "none", "", "s3cret"])).toBe("none of these is an issue");
  expect(redact("s3cret is no token", ["e", "s3cret"])).toBe("[redacted] is no token");
  expect(redact("s3cret-12 is no token", ["s3cret-1", "s3cret-12"])).toBe("[redacted] is no token");
  expect(redact("the token of Ollama, ollama", ["token", "ollama"])).toBe("the token of Ollama, ollama");
});

test("an error whose body breaks off keeps its status", async () => {
  const broken = new ReadableStream({ start: (stream) => stream.error(new Error("terminated")) });
  const fetch = async () => new Response(broken, { status: 401 });
  const client = httpClient({ platform: "beta", base: "https://beta.example", headers: {}, secrets: [], fetch });
  const read = client.read({ route: "GET /x", schema: z.unknown(), signal: AbortSignal.timeout(60_000) });
  await expect(read).rejects.toMatchObject({ code: "unauthorized", message: "beta answered 401 to GET /x" });
});

describe("an error of the platform", () => {
  test.each([
    ['{"message":"no <b>"}', "beta answered 400 to /x: no <b>"],
    ['{"errors":["a",{"b":1}],"error":"c"}', 'beta answered 400 to /x: c; ["a",{"b":1}]'],
    ["<html><h1>Bad gateway</h1>\n<p>s3cret &amp; more</p></html>", "beta answered 400 to /x: Bad gateway [redacted] & more"],
    ["", "beta answered 400 to /x"],
  ])("%s", async (body, message) =>
    expect(await errorOf(body)).toMatchObject({ code: "invalid_input", message: message.replace("to /x", "to GET /x") }),
  );

  // Work that grows with the square of the size would reach the test's timeout.
  test.each(["<", "<a", "<a>", "<![CDATA[", "&", " ", "\n", "> <"])("1 MiB of %j is read in linear time", async (piece) =>
    expect(await errorOf(piece.repeat((1 << 20) / piece.length))).toMatchObject({ code: "invalid_input" }),
  );
});

test.each([
  [{}, null],
  [{ "x-ratelimit-limit": "5000" }, null],
  [
    { "x-ratelimit-remaining": "7", "x-ratelimit-limit": "60", "x-ratelimit-reset": "1767225600" },
    { remaining: 7, limit: 60, resets_at: "2026-01-01T00:00:00.000Z" },
  ],
  [
    { "ratelimit-remaining": "0", "ratelimit-reset": "30" },
    { remaining: 0, limit: null, resets_at: "2026-01-01T00:00:30.000Z" },
  ],
  [{ "x-ratelimit-remaining": "many", "x-ratelimit-reset": "soon" }, null],
])("rateLimitOf reads %j", (headers, found) => {
  expect(rateLimitOf(new Headers(headers as Record<string, string>), 1_767_225_600_000)).toEqual(found);
});

test("a login page instead of an answer is named", async () => {
  const fetch = async () => new Response("<!DOCTYPE html><title>Log in</title><p>Password of s3cret</p>");
  const client = httpClient({ platform: "beta", base: "https://beta.example", headers: {}, secrets: ["s3cret"], fetch });
  const failure = client.read({ route: "GET /x", schema: z.unknown(), signal: AbortSignal.timeout(60_000) });
  await expect(failure).rejects.toThrow(
    /^the response of beta to GET \/x is not valid JSON but a web page: .*Log in.*Password of \[redacted\]$/,
  );
});
