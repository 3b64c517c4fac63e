import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ambiguousHost, crossSite, pathOf } from "./cross-site.ts";

const allowed = new Set(["signalbox.example.com"]);
const asked = (headers: { host?: string; origin?: string }, target = "/api/agents", method = "POST") =>
  crossSite({ method, target, headers: { host: "127.0.0.1:8000", ...headers } }, allowed);

describe("while there are no API keys", () => {
  test.each([
    "localhost",
    "localhost:8000",
    "LOCALHOST",
    "localhost.",
    "app.localhost:1",
    "127.0.0.1",
    "127.1.2.3:8000",
    "[::1]:8000",
    "signalbox",
    "signalbox:8000",
    "192.168.1.5:8000",
    "10.0.0.7",
    "[fd00::1]:8000",
    "signalbox.example.com:443",
  ])("the host %s is served", (host) => expect(asked({ host })).toBeNull());
  test.each([
    "evil.example",
    "evil.example:8000",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "a.signalbox.example.com",
    "",
    "127.0.0.1:8000@evil.example",
    "0x7f.1",
    "evil.example.",
    "EVIL.example",
    "127.0.0.1 evil.example",
    ":8000",
  ])("the host %j is not", (host) => expect(asked({ host })).toMatch(/^Host: .*API_KEYS/));

  test("a host is judged the same however many others were asked for before", () => {
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < 150; n++) {
        expect(asked({ host: `10.0.0.${n}:8000` })).toBeNull();
        expect(asked({ host: `10.0.0.${n}.evil.example` })).toMatch(/^Host/);
      }
  });

  test.each(["http://127.0.0.1:8000", "https://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"])(
    "a page of %s may write",
    (origin) => expect(asked({ origin })).toBeNull(),
  );
  test.each([
    "https://evil.example",
    "null",
    "http://127.0.0.1.evil.example",
    "file://",
    "https://localhost@evil.example",
    "",
    "http://localhost:3000",
    "http://127.0.0.1",
    "https://[::1]",
    "http://app.localhost:3000",
    "http://192.168.1.5:8000",
  ])("a page of %j may not", (origin) => {
    expect(asked({ origin })).toMatch(/^Origin: .*API_KEYS/);
    // Nor may it send webhooks.
    expect(asked({ origin }, "/webhook/alpha")).toMatch(/^Origin/);
  });
  test("a page of another port of this machine may read, one of another site may not", () => {
    expect(asked({ origin: "http://localhost:3000" }, "/api/agents", "GET")).toBeNull();
    expect(asked({ origin: "https://evil.example" }, "/api/agents", "GET")).toMatch(/^Origin/);
  });
  test("a page of the service's own name may write, whatever the scheme", () => {
    for (const host of ["signalbox:8000", "signalbox.example.com"]) expect(asked({ host, origin: `https://${host}` })).toBeNull();
  });

  const tunnel = { host: "tunnel.example" };
  test.each(["/webhook/alpha", "/webhook/alpha?x=/../..", "/health", "/docs", "/docs/page.js", "/openapi.json"])(
    "%s is served under any name",
    (path) => expect(asked(tunnel, path)).toBeNull(),
  );
  test.each([
    "/webhooks",
    "/healthy",
    "/docsx",
    "/signalbox.api.v1.AgentService/ListAgents",
    "/",
    "*",
    "/webhook/",
    "/webhook/../api/agents",
    "/docs/%2e%2e/api/agents",
    "/docs/.%2E/api/keys",
    "/webhook/a/../../api/agents",
    "/docs/..\\api",
    "/webhook\\..\\api",
    "//webhook/alpha",
    "/./docs",
    "/webhook/./alpha",
    "/docs/..",
    "http://tunnel.example/api/agents",
  ])("%s is not", (path) => expect(asked(tunnel, path)).toMatch(/^Host/));

  test("no spelling of an API path bypasses the host check", () => {
    const segment = fc.constantFrom("webhook", "docs", "health", "api", "agents", "..", ".", "%2e%2e", "%2E.", "\\..\\", "", "x");
    const target = fc.array(segment, { maxLength: 8 }).map((parts) => `/${parts.join("/")}`);
    fc.assert(
      fc.property(target, (path) => {
        if (asked(tunnel, path) !== null) return;
        expect(pathOf(path)).toMatch(/^\/(webhook\/.|health$|docs(\/|$))/);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a request must name one host", () => {
  test.each([
    ["/api/agents", ["Host", "a"]],
    ["*", ["Host", "a"]],
    ["http://a/api/agents", ["host", "a"]],
    ["http://a:80/api/agents", ["Host", "A"]],
  ])("%s with %j", (target, headers) => expect(ambiguousHost(target, headers)).toBeNull());
  test.each([
    ["/api/agents", ["Host", "a", "host", "a"]],
    ["/api/agents", ["Host", "a", "X", "host", "HOST", "b"]],
    ["http://b/api/agents", ["Host", "a"]],
    ["http://a:8001/api/agents", ["Host", "a:8000"]],
    ["http://a@b/api/agents", ["Host", "a"]],
    ["b:443", ["Host", "a"]],
    ["http://b/", []],
  ])("%s with %j does not", (target, headers) => expect(ambiguousHost(target, headers)).not.toBeNull());
});
