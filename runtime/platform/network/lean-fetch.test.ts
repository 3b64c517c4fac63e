import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { leanFetch } from "./lean-fetch.ts";

const fetch = leanFetch({ proxies: null });
let server: Server;
let url = "";
let seen: { method: string; path: string; body: string; headers: IncomingMessage["headers"] }[] = [];
const large = "x".repeat(3_000_000);

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const path = request.url ?? "";
    seen.push({ method: request.method ?? "", path, body, headers: request.headers });
    if (/^\/(x-)?gzip$/i.test(path))
      return response.writeHead(200, { "content-encoding": path.slice(1) }).end(gzipSync("packed"));
    if (path.startsWith("/gzip-")) {
      const packed = gzipSync(JSON.stringify({ a: path === "/gzip-json" ? "b" : large }));
      response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" });
      return response.end(path === "/gzip-half" ? packed.subarray(0, 100) : packed);
    }
    if (path.startsWith("/refused")) {
      const type = { "content-type": "application/json" };
      if (path !== "/refused-gzip")
        return response.writeHead(401, { ...type, "content-length": 9 }).write("half", () => response.destroy());
      return response.writeHead(401, { ...type, "content-encoding": "gzip" }).end("not packed");
    }
    if (path === "/moved") return response.writeHead(307, { location: "/here" }).end("gone");
    if (path === "/done") return response.writeHead(303, { location: "/here" }).end();
    if (path === "/elsewhere")
      return response.writeHead(302, { location: `${url.replace("127.0.0.1", "localhost")}/here` }).end();
    if (path === "/to-data") return response.writeHead(302, { location: "data:text/plain,no" }).end();
    if (path === "/nowhere") return response.writeHead(302).end("stay");
    if (path === "/none") return response.writeHead(204).end();
    if (path === "/large") return response.writeHead(200).end(large);
    if (path === "/json" || path === "/large-json") {
      response.writeHead(200, { "content-type": "application/json; charset=utf-8" }).write('{"a":"');
      return response.end(`${path === "/json" ? "b" : large}"}`);
    }
    if (path === "/endless") {
      response.once("close", () => seen.push({ method: "", path: "closed", body: "", headers: {} }));
      const piece = Buffer.alloc(1 << 20, " ");
      const more = () => {
        while (!response.destroyed && response.write(piece));
        if (!response.destroyed) response.once("drain", more);
      };
      response.writeHead(200, { "content-type": "application/json" });
      return more();
    }
    if (path === "/half") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("one ");
      return setTimeout(() => request.socket.destroy(), 20);
    }
    if (path === "/slow") return;
    if (path === "/waiting") return response.writeHead(200, { "content-type": "text/event-stream" }).write("one ");
    if (path === "/broken") return request.socket.destroy();
    if (path === "/stream") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("one ");
      return setTimeout(() => response.end("two"), 20);
    }
    const cookies = ["a=1", "b=2"];
    response.writeHead(201, { "content-type": "text/plain", "set-cookie": cookies, "content-length": 5 }).end("hello");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  seen = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe("an answer", () => {
  test("has the status, the headers and the body", async () => {
    const answer = await fetch(`${url}/x`);
    expect([answer.status, answer.ok, answer.headers.get("content-type")]).toEqual([201, true, "text/plain"]);
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await answer.text()).toBe("hello");
  });
  test("that has arrived is read once, in any way", async () => {
    const answer = await fetch(`${url}/x`);
    expect(answer).toBeInstanceOf(Response);
    const copy = answer.clone();
    const chunks = await Array.fromAsync(answer.body ?? []);
    expect([Buffer.concat(chunks).toString(), await copy.text(), answer.bodyUsed]).toEqual(["hello", "hello", true]);
    await expect(answer.text()).rejects.toThrow(TypeError);
    const read = await fetch(`${url}/x`);
    expect(new TextDecoder().decode(await read.bytes())).toBe("hello");
    expect(read.bodyUsed).toBe(true);
    await expect(read.json()).rejects.toThrow(TypeError);
    expect(() => read.clone()).toThrow(TypeError);
  });
  test("may be packed, empty, large or a stream", async () => {
    for (const coding of ["gzip", "GZip", "x-gzip"]) expect(await (await fetch(`${url}/${coding}`)).text()).toBe("packed");
    expect(await (await fetch(`${url}/none`)).text()).toBe("");
    expect((await (await fetch(`${url}/large`)).text()).length).toBe(large.length);
    expect(await (await fetch(`${url}/json`)).json()).toEqual({ a: "b" });
    expect(await (await fetch(`${url}/large-json`)).json()).toEqual({ a: large });
    expect(await (await fetch(`${url}/gzip-json`)).json()).toEqual({ a: "b" });
    expect(await (await fetch(`${url}/gzip-large`)).json()).toEqual({ a: large });
    await expect(fetch(`${url}/gzip-half`)).rejects.toThrow(TypeError);
    expect(await (await fetch(`${url}/gzip-json`, { method: "HEAD" })).text()).toBe("");
    const parts: string[] = [];
    for await (const part of (await fetch(`${url}/stream`)).body ?? []) parts.push(new TextDecoder().decode(part));
    expect(parts).toEqual(["one ", "two"]);
  });
});

test("an error whose body breaks off keeps its status", async () => {
  for (const path of ["/refused-gzip", "/refused-half"])
    for (const isDeno of [false, true]) {
      const answer = await leanFetch({ proxies: null }, isDeno)(`${url}${path}`);
      expect([answer.status, await answer.text()]).toEqual([401, ""]);
    }
});

test("a long body that is not read to its end is closed", async () => {
  const answer = await fetch(`${url}/endless`);
  await answer.body?.cancel();
  await expect.poll(() => seen.map(({ path }) => path)).toEqual(["/endless", "closed"]);
});

describe("a request", () => {
  test("has the method, the headers and the body", async () => {
    await fetch(new URL(`${url}/x`), { method: "post", body: '{"ä":1}', headers: new Headers({ "content-type": "text/x" }) });
    await fetch(`${url}/x`, { method: "PUT", body: new TextEncoder().encode("bytes"), headers: { A: " b\n" } });
    await fetch(new Request(`${url}/y`, { method: "PATCH", body: "z" }));
    expect(seen).toMatchObject([
      { method: "POST", body: '{"ä":1}', headers: { "content-type": "text/x" } },
      { method: "PUT", body: "bytes", headers: { a: "b" } },
      { method: "PATCH", path: "/y", body: "z" },
    ]);
  });
  test("follows a redirect only where it may", async () => {
    expect((await fetch(`${url}/moved`, { redirect: "manual" })).status).toBe(307);
    expect((await fetch(`${url}/moved`, { method: "POST", body: "b" })).status).toBe(201);
    expect(seen).toMatchObject([{ path: "/moved" }, { path: "/moved" }, { method: "POST", path: "/here", body: "b" }]);
    await expect(fetch(`${url}/moved`, { redirect: "error" })).rejects.toBeInstanceOf(TypeError);
    await expect(fetch(`${url}/to-data`)).rejects.toBeInstanceOf(TypeError);
    expect(await (await fetch(`${url}/nowhere`)).text()).toBe("stay");
  });
  test("that was redirected after it was carried out is not repeated", async () => {
    const sent = { method: "POST", body: "b", headers: { authorization: "Bearer x", "content-type": "text/x" } };
    await fetch(`${url}/done`, sent);
    expect(seen).toMatchObject([
      { method: "POST", path: "/done" },
      { method: "GET", path: "/here", body: "", headers: { authorization: "Bearer x" } },
    ]);
    expect(seen[1]?.headers).not.toHaveProperty("content-type");
    seen = [];
    expect((await fetch(`${url}/elsewhere`, sent)).status).toBe(201);
    expect(seen).toMatchObject([{ path: "/elsewhere" }, { method: "GET", path: "/here" }]);
    expect(seen[1]?.headers).not.toHaveProperty("authorization");
  });
  test("says what it is and what it takes, unless its caller does", async () => {
    await fetch(`${url}/x`);
    await fetch(`${url}/x`, { headers: { "User-Agent": "mine", accept: "a/b" } });
    expect(seen[0]?.headers).toMatchObject({ "user-agent": "signalbox", accept: "*/*" });
    expect(seen[1]?.headers).toMatchObject({ "user-agent": "mine", accept: "a/b" });
  });
  test("is not sent again when its connection breaks, and fails as fetch does", async () => {
    await (await fetch(`${url}/x`)).text();
    await expect(fetch(`${url}/broken`, { method: "POST", body: "once" })).rejects.toThrow(new TypeError("fetch failed"));
    expect(seen.filter(({ path }) => path === "/broken")).toHaveLength(1);
    await expect(fetch("http://127.0.0.1:1/")).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });
  test("fails as fetch does where its answer breaks off", async () => {
    const answer = await fetch(`${url}/half`);
    await expect(answer.text()).rejects.toThrow(new TypeError("terminated"));
  });
  test.each([
    ["of a small request", () => fetch(`${url}/endless`)],
    ["of a Request", () => fetch(new Request(`${url}/endless`))],
    [
      "of a streamed body",
      () => fetch(`${url}/endless`, { method: "POST", body: new Blob(["x"]).stream(), duplex: "half" } as RequestInit),
    ],
    ["on Deno", () => leanFetch({ proxies: null }, true)(`${url}/endless`)],
  ])("fails if the response %s never ends", async (_, send) => {
    const answer = await send();
    const cause = expect.objectContaining({ message: expect.stringMatching(/longer than 67108864 bytes/) });
    await expect(answer.text()).rejects.toMatchObject({ name: "TypeError", message: "terminated", cause });
  });
  test("ends with its signal, for the signal's reason", async () => {
    const stop = new AbortController();
    const reason = new Error("enough");
    const slow = fetch(`${url}/slow`, { signal: stop.signal });
    setTimeout(() => stop.abort(reason), 30);
    await expect(slow).rejects.toBe(reason);
    await expect(fetch(`${url}/x`, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const later = new AbortController();
    const begun = await fetch(`${url}/waiting`, { signal: later.signal });
    setTimeout(() => later.abort(reason), 30);
    await expect(begun.text()).rejects.toBe(reason);
    await expect(fetch(`${url}/slow`, { signal: AbortSignal.timeout(30) })).rejects.toMatchObject({ name: "TimeoutError" });
  });
});
