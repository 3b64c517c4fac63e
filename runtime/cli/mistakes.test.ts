import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
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
    read: (from: string) => readFile(from.slice(1), "utf8"),
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
  [["plugin", "intall", "x"], 'plugin: unknown verb "intall"; did you mean install?'],
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
  await once(server, "listening");
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
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(request(getStatus, {}, { url, apiKey: undefined, timeoutMs: 20 }, () => {})).rejects.toThrow(
    `The service at ${url} has not answered within 0.02 s. It may be frozen or overloaded`,
  );
  server.closeAllConnections();
  server.close();
});

/** A server that answers every request in the same way, and the requests that it received. */
async function serverThat(answer: RequestListener) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, requests, [Symbol.asyncDispose]: close };
}

const everyKind = [
  ["status"],
  ["doctor"],
  ["why", "acme/webshop#42"],
  ["pause", "--reason", "night"],
  ["agents", "seed"],
  ["agents", "delete", "reviewer"],
  ["plugin", "list"],
  ["tail"],
];

test.each(everyKind.map((words) => [words]))("%j: a redirect is named and not followed", async (words) => {
  // As a proxy that redirects http to https: fetch would repeat a POST as a GET, which changes nothing.
  await using other = await serverThat((_, response) => response.setHeader("content-type", "application/json").end("[]"));
  await using proxy = await serverThat(({ url }, response) =>
    response.writeHead(301, { location: `${other.url}/base${url}` }).end(),
  );
  vi.stubEnv("SIGNALBOX_URL", proxy.url);
  const error = await errorOf(1, words);
  expect(error).toContain(`${proxy.url} redirects to ${other.url}/base/api/`);
  expect(error).toContain(`so nothing was done. Set SIGNALBOX_URL to ${other.url}/base.\n`);
  expect(other.requests).toEqual([]);
});

test("a redirect to a login page is named without its query", async () => {
  await using proxy = await serverThat((_, response) => response.writeHead(302, { location: "/login?state=secret" }).end());
  vi.stubEnv("SIGNALBOX_URL", proxy.url);
  expect(await errorOf(1, ["status"])).toBe(
    `${proxy.url} redirects to ${proxy.url}/login, so nothing was done. Set SIGNALBOX_URL to a URL at which the service itself answers.\n`,
  );
});

test.each(everyKind.map((words) => [words]))("%j: the answer of another program is named in one line", async (words) => {
  await using page = await serverThat((_, response) => response.setHeader("content-type", "text/html").end("<p>Log in</p>"));
  vi.stubEnv("SIGNALBOX_URL", page.url);
  const error = await errorOf(1, words);
  expect(error.replace("Following all executions. Press Ctrl-C to stop.\n", "")).toBe(
    `The answer of ${page.url} is not from Signalbox. Set SIGNALBOX_URL to a URL at which the service itself answers.\n`,
  );
});

test.each([
  ["/api", ""],
  ["/api/", ""],
  ["/docs", ""],
  ["/base/api", "/base"],
])("a URL with a path too much, %s, is named with the right one", async (path, right) => {
  await using service = await serverThat(({ url }, response) =>
    response
      .writeHead(404, { "content-type": "application/json" })
      .end(JSON.stringify({ error: `There is no ${url} here; GET /openapi.json lists all operations.` })),
  );
  vi.stubEnv("SIGNALBOX_URL", `${service.url}${path}`);
  const noOperations = `The service has no operations under ${path.replace(/\/$/, "")}. Set SIGNALBOX_URL to ${service.url}${right}.`;
  for (const words of [["status"], ["agents", "list"]]) expect(await errorOf(1, words)).toContain(noOperations);
});

test("a path that a proxy removed is not mistaken for one too much", async () => {
  const error = "There is no /api/status here; GET /openapi.json lists all operations.";
  await using service = await serverThat((_, response) =>
    response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error })),
  );
  vi.stubEnv("SIGNALBOX_URL", `${service.url}/base`);
  expect(await errorOf(1, ["status"])).toBe(`${error}\n`);
});

test("an object that is missing is not mistaken for a wrong URL", async () => {
  await using service = await serverThat((_, response) =>
    response.writeHead(404, { "content-type": "application/json" }).end('{"error":"There is no agent x."}'),
  );
  vi.stubEnv("SIGNALBOX_URL", `${service.url}/base`);
  expect(await errorOf(1, ["agents", "get", "x"])).toBe("There is no agent x.\n");
});

test("a URL of a page of the console is named with the service's own", async () => {
  await using page = await serverThat((_, response) => response.setHeader("content-type", "text/html").end("<p>Console</p>"));
  vi.stubEnv("SIGNALBOX_URL", `${page.url}/console`);
  expect(await errorOf(1, ["status"])).toContain(`answers, for example ${page.url}, without a path.`);
});

test.each(["127.0.0.1:8000", "localhost:8000", "localhost"])(
  "a URL without a scheme, %s, is refused with the valid form",
  async (url) => {
    vi.stubEnv("SIGNALBOX_URL", url);
    expect(await errorOf(1, ["status"])).toContain(
      `SIGNALBOX_URL: must be a URL that begins with http:// or https://; it is "${url}"`,
    );
  },
);

test("a port that does not speak HTTP/1.1 is named", async () => {
  const server = createTcpServer((socket) => socket.end("\0\0\x18\x04\0\0\0\0\0")).listen(0, "127.0.0.1");
  await once(server, "listening");
  vi.stubEnv("SIGNALBOX_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const error = await errorOf(1, ["status"]);
  server.close();
  expect(error).toContain("(the port does not speak HTTP/1.1; it may be the port for gRPC)");
});

test.each([
  ["42", true],
  ["webshop", true],
  ["acme/webshop#42", false],
  ["acme/webshop!7", false],
  ["CONF-7", false],
  ["https://tracker.example/acme/webshop/issues/42", false],
])("why %s: without an event, a text of another form is answered with the valid ones: %s", async (issue, isOther) => {
  await using service = await serverThat((_, response) => response.setHeader("content-type", "application/json").end("[]"));
  vi.stubEnv("SIGNALBOX_URL", service.url);
  const error = (await errorOf(1, ["why", issue])).replace(/\s+/g, " ");
  expect(error).toContain(`No stored event is about ${issue}.`);
  expect(error.includes("Name an issue as acme/webshop#42, as CONF-7 or by its URL.")).toBe(isOther);
});

test("an answer that is cut off is named in one line", async () => {
  await using broken = await serverThat((_, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "100" }).write('[{"id"');
    setTimeout(() => response.destroy(), 20);
  });
  vi.stubEnv("SIGNALBOX_URL", broken.url);
  expect(await errorOf(1, ["agents", "list"])).toBe(
    `The connection to ${broken.url} was closed before the end of the response.\n`,
  );
});

test("a file that cannot be read is named in one line", async () => {
  const words = ["agents", "create", "--json", "@no-such-file"];
  expect(await errorOf(1, words)).toBe("ENOENT: no such file or directory, open 'no-such-file'\n");
});
