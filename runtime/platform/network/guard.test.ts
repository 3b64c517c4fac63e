import { createServer, type Server } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGuard, type Guard } from "./guard.ts";

let server: Server;
let port = 0;
const seen: string[] = [];
/** A small response that is longer than permitted once it is decompressed. */
const bomb = gzipSync(Buffer.alloc(65 * 1024 * 1024, " "), { level: 1 });
const guards: Guard[] = [];
/** Fictional names; `flips` resolves first to a public address and then to this machine's. */
const asked: string[] = [];
const lookup: LookupFunction = (name, _options, done) => {
  asked.push(name);
  const of: Record<string, string[]> = {
    "public.test": ["93.184.215.14"],
    "inside.test": ["10.0.0.5"],
    "metadata.test": ["169.254.169.254"],
    "here.test": ["127.0.0.1"],
    "mixed.test": ["93.184.215.14", "127.0.0.1"],
    "flips.test": [asked.filter((one) => one === "flips.test").length === 1 ? "93.184.215.14" : "127.0.0.1"],
  };
  const found = of[name];
  if (!found) return done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND" }), []);
  done(
    null,
    found.map((address) => ({ address, family: 4 })),
  );
};
const guard = (options: { loopback?: boolean; allowed?: string[] } = {}) => {
  const made = createGuard({ allowedNetworks: options.allowed ?? [], loopback: options.loopback ?? false, lookup });
  guards.push(made);
  return made;
};

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.host}${request.url}`);
    const to = new URL(request.url ?? "/", "http://x").searchParams.get("to");
    if (to) return void response.writeHead(302, { location: to }).end();
    if (request.url === "/bomb") return void response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    request.pipe(response.writeHead(200, { "x-type": request.headers["content-type"] ?? "" }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  for (const one of guards) await one.close();
  await new Promise((done) => server.close(done));
});

describe("check", () => {
  it.each([
    ["http://127.0.0.1/", "127.0.0.1 is not a public address"],
    ["http://2130706433/", "127.0.0.1 is not a public address"],
    ["http://0x7f.1:81/", "127.0.0.1 is not a public address"],
    ["http://[::1]/", "::1 is not a public address"],
    ["http://[::ffff:10.0.0.1]/", "is not a public address"],
    ["http://0.0.0.0/", "0.0.0.0 is not a public address"],
    ["https://inside.test/x", "inside.test (10.0.0.5) is not a public address"],
    ["https://metadata.test/", "metadata.test (169.254.169.254) is not a public address"],
    ["https://mixed.test/", "mixed.test (127.0.0.1) is not a public address"],
    ["ftp://public.test/", "is not an http or https URL"],
    ["file:///etc/passwd", "is not an http or https URL"],
    ["nonsense", "is not a URL such as"],
    ["https://user:pass@public.test/", "contains a user name or password"],
  ])("refuses %s", async (url, message) => {
    await expect(guard().check(url)).rejects.toMatchObject({ code: "bad_request", message: expect.stringContaining(message) });
  });

  it("lets public addresses, permitted networks and names without an address pass", async () => {
    await guard().check("https://public.test/mcp");
    await guard().check("https://1.1.1.1/");
    await guard().check("https://nobody.test/");
    await guard({ allowed: ["10.0.0.0/24"] }).check("http://inside.test/");
    await guard({ loopback: true }).check("http://here.test/");
    await expect(guard({ loopback: true }).check("http://inside.test/")).rejects.toThrow("ALLOW_PRIVATE_ADDRESSES");
  });

  it("does not wait for a name server that is silent", async () => {
    const silent = createGuard({ allowedNetworks: [], loopback: false, lookup: () => {} });
    await silent.check("https://slow.test/");
  });
});

describe("fetch", () => {
  it("reaches a permitted address with method, headers and body", async () => {
    const answer = await guard({ loopback: true }).fetch(`http://here.test:${port}/a`, {
      method: "POST",
      headers: new Headers({ "content-type": "text/x" }),
      body: "hello",
    });
    expect([answer.status, answer.headers.get("x-type"), await answer.text()]).toEqual([200, "text/x", "hello"]);
    expect(seen.at(-1)).toBe(`POST here.test:${port}/a`);
  });

  it("takes a Request", async () => {
    const request = new Request(`http://here.test:${port}/b`, {
      method: "PUT",
      body: "x",
      headers: { "content-type": "text/y" },
    });
    const answer = await guard({ loopback: true }).fetch(request);
    expect([answer.headers.get("x-type"), await answer.text(), seen.at(-1)]).toEqual(["text/y", "x", `PUT here.test:${port}/b`]);
  });

  it("breaks off a response that is longer than 64 MiB, also one that was compressed, and keeps its other members", async () => {
    const answer = await guard({ loopback: true }).fetch(`http://here.test:${port}/bomb`);
    expect([answer.status, answer.ok, answer.url]).toEqual([200, true, `http://here.test:${port}/bomb`]);
    const cause = expect.objectContaining({ message: "The response is longer than 67108864 bytes." });
    await expect(answer.text()).rejects.toMatchObject({ name: "TypeError", message: "terminated", cause });
  });

  it("opens no connection to a refused address, by name, by number or behind a redirect", async () => {
    const before = seen.length;
    const closed = guard();
    for (const host of ["here.test", "127.0.0.1", "mixed.test", "[::1]"])
      await expect(closed.fetch(`http://${host}:${port}/`)).rejects.toMatchObject({ code: "bad_request" });
    expect(seen.length).toBe(before);
    const open = guard({ loopback: true });
    for (const to of ["http://10.0.0.5/", "http://inside.test/", "http://169.254.169.254/latest"])
      await expect(open.fetch(`http://here.test:${port}/?to=${encodeURIComponent(to)}`)).rejects.toMatchObject({
        code: "bad_request",
        message: expect.stringContaining(new URL(to).hostname),
      });
  });

  it("refuses a name whose address changes between check and connection", async () => {
    const before = seen.length;
    const closed = guard();
    await closed.check(`http://flips.test:${port}/`);
    await expect(closed.fetch(`http://flips.test:${port}/`)).rejects.toThrow("flips.test (127.0.0.1)");
    expect(seen.length).toBe(before);
  });

  it("passes other failures and aborts on", async () => {
    await expect(guard().fetch("http://nobody.test/")).rejects.toThrow("fetch failed");
    const stop = AbortSignal.abort();
    await expect(guard({ loopback: true }).fetch(`http://here.test:${port}/`, { signal: stop })).rejects.toMatchObject({
      name: "AbortError",
    });
  });
});
