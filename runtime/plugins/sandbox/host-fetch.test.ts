import { expect, test } from "vitest";
import { createHostFetch, type EgressRules } from "./host-fetch.ts";
import { limits } from "./limits.ts";
import { createPlaceholders } from "./placeholders.ts";

const reached = async () => new Response("{}");
const ways = (methods: EgressRules["permissions"][0]["methods"]): EgressRules => ({
  permissions: [{ host: "api.example.com", methods, why: "Reads." }],
  guardedFetch: reached,
  directFetch: reached,
  userHosts: () => [],
  // As if a setting contained this address.
  operatorHosts: () => ["api.example.com"],
});
const ask = (url: string, method: string, allowed: EgressRules["permissions"][0]["methods"]) =>
  createHostFetch(
    "worker",
    ways(allowed),
    createPlaceholders({}, () => ({})),
  )({ url, method, headers: [], body: null, redirect: "follow" }, new AbortController().signal);

test("a setting that names a host does not restore a denied permission", async () => {
  expect((await ask("https://api.example.com/a", "GET", ["GET"])).status).toBe(200);
  await expect(ask("https://api.example.com/a", "POST", ["GET"])).rejects.toThrow("cannot send POST requests to api.example.com");
  for (const scheme of ["https", "http"])
    await expect(ask(`${scheme}://api.example.com/a`, "GET", [])).rejects.toThrow("the operator does not allow it");
});

test("responses that are read at the same time share a limit, which is released afterwards", async () => {
  const answer = Buffer.alloc(limits.answerBytes);
  const reads = {
    ...ways(["GET"]),
    guardedFetch: async () => new Response(answer),
  };
  const fetch = createHostFetch("worker", reads, createPlaceholders({}));
  const get = () =>
    fetch(
      { url: "https://api.example.com/a", method: "GET", headers: [], body: null, redirect: "follow" },
      new AbortController().signal,
    );
  const all = await Promise.allSettled(Array.from({ length: 6 }, get));
  const refused = all.flatMap((one) => (one.status === "rejected" ? [String(one.reason.message)] : []));
  expect(refused.length).toBeGreaterThan(0);
  for (const message of refused) expect(message).toContain("send fewer requests at the same time");
  expect((await get()).status).toBe(200);
});

test.each(["TRACE", "CONNECT", "PROPFIND", "trace"])("%s is refused at every host, the operator's own too", async (method) => {
  const rules = { ...ways(["GET"]), permissions: [] };
  const request = { url: "https://api.example.com/a", method, headers: [], body: null, redirect: "follow" };
  const own = createHostFetch("worker", rules, createPlaceholders({}));
  await expect(own(request, new AbortController().signal)).rejects.toThrow(`cannot send ${method} requests to api.example.com`);
  const users = { ...rules, operatorHosts: () => [], userHosts: () => ["api.example.com"] };
  const given = createHostFetch("worker", users, createPlaceholders({}));
  await expect(given(request, new AbortController().signal)).rejects.toThrow(`cannot send ${method} requests to api.example.com`);
});

test.each(["host", "content-length", "x-forwarded-for"])("a stored manifest that injects %s injects nothing", (name) => {
  const secrets = { token: { title: "T", inject: { as: "header" as const, name, format: "{}", hosts: ["api.example.com"] } } };
  const headers = new Headers();
  createPlaceholders(secrets, () => ({ token: "secret" })).inject("api.example.com", headers);
  expect([...headers]).toEqual([]);
});

test("a response that returns a secret hides it, also if the plugin was started before the secret was set", async () => {
  const secrets = {
    token: {
      title: "T",
      inject: { as: "header" as const, name: "authorization", format: "Bearer {}", hosts: ["api.example.com"] },
    },
  };
  const guardedFetch: typeof fetch = async (_, init) => new Response(String(new Headers(init?.headers).get("authorization")));
  const own = createHostFetch(
    "worker",
    { ...ways(["GET"]), guardedFetch },
    createPlaceholders(secrets, () => ({ token: "s3cret" })),
  );
  const request = { url: "https://api.example.com/a", method: "GET", headers: [], body: null, redirect: "follow" };
  const { body } = await own(request, new AbortController().signal);
  expect(Buffer.from(body ?? "", "base64").toString()).toMatch(/^Bearer signalbox-secret-[0-9a-f]{32}$/);
});

/** The host's response to a request that a plugin sends without its boot file. */
async function sentFor(asked: object): Promise<{ url: string; headers: string[] } | string> {
  let sent: { url: string; headers: string[] } | string = "nothing";
  const guardedFetch: typeof fetch = async (input, init) => {
    sent = { url: String(input), headers: [...new Headers(init?.headers).keys()] };
    return new Response("{}");
  };
  const own = createHostFetch("worker", { ...ways(["GET"]), guardedFetch }, createPlaceholders({}));
  const request = { url: "https://api.example.com/a", method: "GET", headers: [], body: null, redirect: "follow", ...asked };
  await own(request, new AbortController().signal).catch(() => {});
  return sent;
}

test.each<[string, object]>([
  ["a line break in a header", { headers: [["x-a", "b\r\nhost: evil.example"]] }],
  ["a line break in a header's name", { headers: [["x-a: b\r\nhost", "evil.example"]] }],
  ["NUL in a header", { headers: [["x-a", "b\u0000"]] }],
  ["a header that is no pair", { headers: [["x-a"]] }],
  ["1,000 headers", { headers: Array(1_000).fill(["x-a", "b"]) }],
  ["a method with a line break", { method: "GET / HTTP/1.1\r\nx:" }],
  ["a method that is no text", { method: { toString: () => "GET" } }],
  ["an address of 20 kB", { url: `https://api.example.com/${"a".repeat(20_000)}` }],
  ["the host as a login", { url: "https://api.example.com@evil.example/" }],
  ["the host with a final dot", { url: "https://api.example.com./" }],
  ["a backslash for the host", { url: "https://evil.example\\@api.example.com/" }],
  ["a host in full-width letters of another", { url: "https://ａpi.example.com.evil.example/" }],
  ["data", { url: "data:text/plain,api.example.com" }],
])("%s: nothing is sent", async (_, asked) => expect(await sentFor(asked)).toBe("nothing"));

test("headers of the connection are left out, in upper and lower case", async () => {
  const names = ["Host", "CONTENT-LENGTH", "Transfer-Encoding", "connection", "X-Forwarded-For", "Proxy-Authorization", "te"];
  const headers = [...names.map((name) => [name, "1"]), ["x-own", "1"]];
  expect(await sentFor({ headers })).toEqual({ url: "https://api.example.com/a", headers: ["x-own"] });
});

test.each([
  [302, true, "unavailable"],
  [307, true, "unavailable"],
  [301, true, "failed"],
  // Probably a platform's redirect to its storage, whose host is missing in the manifest.
  [302, false, "failed"],
])(
  "a redirect with %i to another host, from a server in a setting: %s, is an error with the code %s",
  async (status, isOwn, code) => {
    const headers = { location: "https://login.example/start" };
    const guardedFetch: typeof fetch = async () => new Response(null, { status, headers });
    const rules = {
      ...ways(["GET"]),
      guardedFetch,
      operatorHosts: () => [],
      userHosts: () => (isOwn ? ["api.example.com"] : []),
    };
    const request = { url: "https://api.example.com/a", method: "GET", headers: [], body: null, redirect: "follow" };
    const sent = createHostFetch("worker", rules, createPlaceholders({}))(request, new AbortController().signal);
    await expect(sent).rejects.toMatchObject({ code, message: expect.stringContaining("cannot reach https://login.example") });
  },
);

test.each([
  "http://127.0.0.1/",
  "http://[::ffff:127.0.0.1]/",
  "//evil.example/",
  "https://api.example.com:8443/",
  "file:///etc/passwd",
  "https://[",
  "javascript:1",
])("a redirect to %s is not followed", async (location) => {
  const seen: string[] = [];
  const guardedFetch: typeof fetch = async (input) => {
    seen.push(String(input));
    return new Response(null, { status: 302, headers: { location } });
  };
  const own = createHostFetch("worker", { ...ways(["GET"]), guardedFetch }, createPlaceholders({}));
  const request = { url: "https://api.example.com/a", method: "GET", headers: [], body: null, redirect: "follow" };
  await expect(own(request, new AbortController().signal)).rejects.toMatchObject({ name: "PluginError" });
  expect(seen).toEqual(["https://api.example.com/a"]);
});
