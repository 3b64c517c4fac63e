import { describe, expect, test } from "vitest";
import { crossSite } from "./cross-site.ts";

const asked = (headers: { host?: string; origin?: string }, path = "/api/agents", local = true) =>
  crossSite({ path, headers: { host: "127.0.0.1:8000", ...headers } }, local);

describe("while there are no API keys, on this machine only", () => {
  test.each([
    "localhost",
    "localhost:8000",
    "LOCALHOST",
    "localhost.",
    "app.localhost:1",
    "127.0.0.1",
    "127.1.2.3:8000",
    "[::1]:8000",
  ])("the host %s is ours", (host) => expect(asked({ host })).toBeNull());
  test.each([
    ...[
      "evil.example",
      "evil.example:8000",
      "127.0.0.1.evil.example",
      "localhost.evil.example",
      "notlocalhost",
      "192.168.1.5:8000",
    ],
    ...["", "127.0.0.1:8000@evil.example", "[::2]", "0x7f.1"],
  ])("the host %j is not", (host) => expect(asked({ host })).toMatch(/^Host: .*API_KEYS/));

  test.each(["http://localhost:3000", "http://127.0.0.1:8000", "https://[::1]"])("a page of %s may", (origin) =>
    expect(asked({ origin })).toBeNull(),
  );
  test.each(["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://", "https://localhost@evil.example", ""])(
    "a page of %j may not",
    (origin) => {
      expect(asked({ origin })).toMatch(/^Origin: .*API_KEYS/);
      // Nor may it play the tracker.
      expect(asked({ origin }, "/webhook/alpha")).toMatch(/^Origin/);
    },
  );

  test.each(["/webhook/alpha", "/health", "/docs", "/docs/start.js", "/openapi.json"])("%s is served under any name", (path) =>
    expect(asked({ host: "tunnel.example" }, path)).toBeNull(),
  );
  test.each(["/webhooks", "/healthy", "/docsx", "/signalbox.api.v1.AgentService/ListAgents", "/"])("%s is not", (path) =>
    expect(asked({ host: "tunnel.example" }, path)).not.toBeNull(),
  );
});

test("reachable from elsewhere on purpose: any name, but still no page of another site", () => {
  const elsewhere = (origin?: string) => asked({ host: "signalbox:8000", ...(origin && { origin }) }, "/api/agents", false);
  expect(elsewhere()).toBeNull();
  expect(elsewhere("http://signalbox:8000")).toBeNull();
  expect(elsewhere("http://evil.example")).toMatch(/^Origin/);
});
