import { chmodSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createUnixServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtManifest } from "../../../../sdk/manifest.ts";
import { type Built, buildPlugin, toolOf } from "../../../../test/harness/plugin-bundle.ts";
import { createGuard } from "../../../platform/network/guard.ts";
import { cachedBundle } from "../../bundle-cache.ts";
import { runSandboxed, type SandboxDependencies } from "../../run-sandboxed.ts";

export const root = join(import.meta.dirname, "../../../..");
export const secret = "s3cret-of-the-host";

/** The targets of a hostile plugin: files, a socket and a server that it must not reach. */
export interface Place {
  readonly folder: string;
  readonly bundle: string;
  readonly secretFile: string;
  readonly link: string;
  readonly neighbour: string;
  readonly boot: string;
  readonly module: string;
  readonly packageJson: string;
  readonly socket: string;
  readonly port: number;
  readonly secret: string;
  /** Requests that the server received, as `method path`. */
  readonly reached: string[];
  close(): Promise<void>;
}

export async function makePlace(built: Built): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-hostile-"));
  chmodSync(folder, 0o755);
  const file = (name: string) => join(folder, name);
  writeFileSync(file("secret.txt"), secret, { mode: 0o644 });
  symlinkSync(file("secret.txt"), file("link"));
  cpSync(cachedBundle(built.bytes).file, file("plugin.mjs"));
  const neighbour = cachedBundle(new TextEncoder().encode(`export default "${secret}";`)).file;
  const reached: string[] = [];
  const server = createServer(({ method, url }, answer) => {
    reached.push(`${method} ${url}`);
    if (url === "/moved") answer.writeHead(302, { location: "http://127.0.0.1:9/private" });
    answer.end("reached");
  });
  const unix = createUnixServer((socket) => {
    reached.push("unix");
    socket.end();
  });
  await listening(server, 0);
  await new Promise<void>((done) => unix.listen(file("socket"), done));
  chmodSync(file("socket"), 0o777);
  return {
    folder,
    secret,
    reached,
    neighbour,
    bundle: file("plugin.mjs"),
    secretFile: file("secret.txt"),
    link: file("link"),
    boot: join(root, "runtime/plugins/sandbox/boot/main.ts"),
    module: join(root, "runtime/platform/version.ts"),
    packageJson: join(root, "package.json"),
    socket: file("socket"),
    port: (server.address() as { port: number }).port,
    close: async () => {
      unix.close();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const listening = (server: Server, port: number) => new Promise<void>((done) => server.listen(port, "127.0.0.1", done));

export const buildHostile = (): Promise<Built> =>
  buildPlugin(`export { default } from "./runtime/plugins/testing/hostile/plugin.js";`, {
    id: "hostile",
    needs: ["fetch", "secret", "log"],
    config: { type: "object", properties: { token: {}, readable: {}, api_url: {} } },
    permissions: { http: [{ host: "api.hostile.example", methods: ["GET"], why: "a test" }] },
    secrets: {
      token: {
        title: "Token",
        inject: { as: "header", name: "authorization", format: "Bearer {}", hosts: ["api.hostile.example"] },
      },
      readable: { title: "One that it may read" },
      constructor: { title: "One that is not set" },
    },
    contributes: { tools: Object.fromEntries(["attack", "pollute", "secrets", "request"].map((name) => [name, toolOf(name)])) },
  });

export const bystander = `
  import { definePlugin, tool } from "@signalbox/sdk";
  import { z } from "zod";
  const now = tool({ about: "Time.", effect: "read", input: z.object({}), output: z.number(), run: () => Date.now() });
  export default definePlugin({ id: "bystander", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [], setup: () => ({ tools: { now } }) });`;

/** The requests that the guard allowed, with the headers that would have been sent. */
export interface Sent {
  readonly url: string;
  readonly authorization: string | null;
}

/** The host for the plugin, with a network in which the plugin's host resolves to this machine. */
export function hostFor(built: Built, settings: Readonly<Record<string, string>>, operations: string[]) {
  const sent: Sent[] = [];
  const guard = createGuard({
    allowedNetworks: [],
    loopback: false,
    lookup: (_, options, done) => (options.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4)),
  });
  const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };
  const dependencies: SandboxDependencies = {
    deno: undefined,
    settingsOf: (id) => (id === "hostile" ? settings : { token: "of another" }),
    hostsOf: () => [],
    userHostsOf: () => [],
    // `/echo` is on a public host and repeats the request; all other requests pass the guard.
    guardedFetch: async (input, init) => {
      const authorization = new Headers(init?.headers).get("authorization");
      sent.push({ url: String(input), authorization });
      if (new URL(String(input)).pathname !== "/echo") return guard.fetch(input, init);
      return new Response(`you sent ${authorization}`, { headers: { "x-echo": authorization ?? "" } });
    },
    directFetch: (input, init) => fetch(input, init),
    embed: async () => [],
    operations: { call: async (id) => operations.push(id) },
    trackers: undefined,
    vectors: undefined,
    log: quiet,
    logs: { add: () => {}, of: () => [] },
  };
  const plugin = runSandboxed(builtManifest.parse(built.manifest), built.bytes, dependencies, () => {});
  return { ...plugin, sent, close: () => Promise.all([plugin.process.stop(), guard.close()]) };
}
