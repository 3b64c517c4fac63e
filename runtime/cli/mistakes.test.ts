import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { get as getStatus } from "@signalbox/schema/status";
import { afterEach, expect, test, vi } from "vitest";
import { request } from "./request.ts";
import { run } from "./run.ts";

afterEach(() => vi.unstubAllEnvs());

const refusalOf = (...words: string[]) => errorOf(2, words);

/** Runs a command that ends with this exit code, and returns its error. */
async function errorOf(code: number, words: readonly string[]): Promise<string> {
  let text = "";
  const terminal = {
    out: () => {},
    err: (line: string) => {
      text += line;
    },
    read: async () => "",
    interactive: false,
    columns: 80,
  };
  expect(await run(words, terminal)).toBe(code);
  return text;
}

test.each([
  [["sttus"], "did you mean status?"],
  [["agent", "list"], "did you mean agents?"],
  [["events", "list"], "did you mean signalbox webhook-events list?"],
  [["executions", "get"], "did you mean task-executions?"],
  [["executions"], "did you mean task-executions or tool-executions?"],
  [["audit", "list"], "did you mean signalbox audit-log list?"],
  [["task-executions", "restart"], "did you mean signalbox tasks restart <id>?"],
  [["task-executions", "retry"], "did you mean signalbox tasks restart <id>?"],
  [["webhook-events", "list", "--limit", "-1"], "--limit: missing value; write a value that begins with a hyphen as --limit=-…"],
])("%j: the refusal says what was probably meant", async (words, suggestion) => {
  expect(await refusalOf(...words)).toContain(suggestion);
});

test("a command that resembles none is refused without a guess", async () => {
  expect(await refusalOf("frobnicate")).toBe('unknown command "frobnicate"; see signalbox --help\n');
  expect(await refusalOf("agents", "frobnicate")).toMatch(/expected one of [a-z, -]+\n$/);
});

test("a key that no service can have is named, not sent", async () => {
  for (const key of ["two words", "k\u00e9y-of-sixteen-letters", "key\u2026"]) {
    vi.stubEnv("SIGNALBOX_API_KEY", key);
    const error = await errorOf(1, ["status"]);
    expect(error).toBe(
      "Invalid configuration:\nSIGNALBOX_API_KEY: contains a space or a character that is not ASCII, so it is no API key\n",
    );
  }
});

test("an https URL of a port without TLS is named as such, in one line", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await vi.waitFor(() => expect(server.listening).toBe(true));
  const { port } = server.address() as AddressInfo;
  vi.stubEnv("SIGNALBOX_URL", `https://127.0.0.1:${port}`);
  const error = await errorOf(1, ["status"]);
  server.close();
  expect(error).toMatch(
    /^No service answers at https:\S+ \(the port does not use TLS, so the URL begins with http\)\. Start one .*\n$/,
  );
});

test("a service that accepts a request and never answers is named as frozen", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await vi.waitFor(() => expect(server.listening).toBe(true));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(request(getStatus, {}, { url, apiKey: undefined, timeoutMs: 20 }, () => {})).rejects.toThrow(
    `The service at ${url} has not answered within 0.02 s. It may be frozen or overloaded`,
  );
  server.closeAllConnections();
  server.close();
});
