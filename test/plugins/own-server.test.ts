import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { authorCommands } from "../harness/author-commands.ts";

const limit = 240_000;
let folder: string;
let server: Server;
let requests = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-own-server-"));
  server = createServer((_, response) => {
    requests += 1;
    response.end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

test(
  "a plugin whose server is in its settings is tested with its recordings and with faults, not with the real server",
  async () => {
    const { good } = authorCommands(() => ({ url: "http://127.0.0.1:9", folder }));
    await good(["plugin", "new", "status-page"]);
    const plugin = join(folder, "status-page");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const edit = (file: string, change: (text: string) => string) => {
      const path = join(plugin, file);
      const before = readFileSync(path, "utf8");
      writeFileSync(path, change(before));
      expect(readFileSync(path, "utf8")).not.toBe(before);
    };
    edit("src/plugin.ts", (text) =>
      text
        .replace("(fetch: typeof globalThis.fetch) =>", "(fetch: typeof globalThis.fetch, base: string) =>")
        .replace('base: "https://status.example.com"', "base")
        .replace("config: z.object({})", `config: z.object({ url: z.url().default(${JSON.stringify(url)}) })`)
        .replace("setup: ({ fetch })", "setup: ({ fetch, config })")
        .replace("getStatus(fetch)", "getStatus(fetch, config.url)"),
    );
    edit("package.json", (text) => {
      const { signalbox, ...rest } = JSON.parse(text);
      const { permissions: _, ...own } = signalbox;
      return JSON.stringify({ ...rest, signalbox: own });
    });
    edit("test/conformance.ts", (text) =>
      text.replace("Conformance = {", `Conformance = {\n  config: { url: ${JSON.stringify(url)} },`),
    );
    mkdirSync(join(plugin, "test/http"), { recursive: true });
    edit("test/http/web-is-up.json", (text) => text.replace("https://status.example.com", url));
    const tested = await good(["plugin", "test"], plugin);
    expect(tested).toContain("ok   tool status-page.get_status: run reports the status 429 with a Retry-After of an hour");
    expect(tested).toMatch(/\d+ passed, 0 failed/);
    expect(requests).toBe(0);
  },
  limit,
);
