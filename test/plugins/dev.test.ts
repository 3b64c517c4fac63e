import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestTracker } from "../../runtime/cli/plugin/templates/sources/test/tracker.ts";
import commented from "../../runtime/cli/plugin/templates/sources/test/webhooks/commented.json" with { type: "json" };
import { type Running, run, runtimeUnderTest } from "../harness/process.ts";
import { eventually } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

/** `signalbox plugin dev` from the side of its author, with a running service. */
const limit = 120_000;
const id = "tickets";
const apiKey = "the-key-of-the-author";
const secret = "the-webhooks-secret";
let world: World;
let tracker: TestTracker;
let folder: string;
let child: Running;

const start = (args: readonly string[], env: Record<string, string> = {}) =>
  run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["plugin", "dev", ...args], env, cwd: folder });

beforeAll(async () => {
  folder = join(mkdtempSync(join(tmpdir(), "signalbox-dev-")), id);
  const made = run(runtimeUnderTest(), "runtime/cli/main.ts", {
    args: ["plugin", "new", id, "--kind", "sources"],
    env: {},
    cwd: join(folder, ".."),
  });
  expect([(await made.ended).code, made.logs()]).toEqual([0, expect.any(String)]);
  writeFileSync(join(folder, "..", "key"), `${apiKey}\n`);
  tracker = await new TestTracker().listen();
  world = await startWorld({
    apiKey,
    env: {
      API_KEYS: apiKey,
      PLUGIN_TICKETS__URL: tracker.url,
      PLUGIN_TICKETS__TOKEN: "test-token",
      PLUGIN_TICKETS__WEBHOOK_SECRET: secret,
    },
  });
  child = start(["--url", world.service.url, "--key", "@../key", "--replay"]);
}, limit);
afterAll(async () => {
  child?.signal("SIGKILL");
  await world?.[Symbol.asyncDispose]();
  await tracker?.close();
  rmSync(join(folder, ".."), { recursive: true, force: true });
});

const edit = (file: string, from: string, to: string) => {
  const before = readFileSync(join(folder, file), "utf8");
  expect(before).toContain(from);
  writeFileSync(join(folder, file), before.replace(from, to));
};
/** Its output from now on, or from `before`, once it contains this text. */
async function after(act: () => unknown, text: RegExp, before = child.logs().length): Promise<string> {
  await act();
  return eventually(
    () => {
      const written = child.logs().slice(before);
      if (child.exit) throw new Error(`it ended:\n${child.logs()}`);
      if (!text.test(written)) throw new Error(`there is no ${text} in:\n${written}`);
      return written;
    },
    { timeout: 60_000 },
  );
}
interface Shown {
  readonly version: string | null;
  readonly waiting: { readonly version: string } | null;
  readonly versions: readonly { readonly version: string }[];
}
const plugin = async (): Promise<Shown> => (await world.service.get<Shown>(`/api/plugins/${id}`)).body;
const dev = /^0\.1\.0-dev\.\d+$/;

test("the first build is tested, installed, and waits for approval", { timeout: limit }, async () => {
  const said = await after(() => {}, /Waiting for approval: signalbox plugin approve tickets/, 0);
  expect(said).toMatch(/^tickets 0\.1\.0: good, \d+ cases, \d+ ms; \d+ slow cases run only in signalbox plugin test$/m);
  expect(said).toContain(`Builds that pass are installed at ${world.service.url}\n`);
  expect(said).toMatch(/^tickets 0\.1\.0-dev\.\d+ requests:\n {2}capability: fetch$/m);
  expect(await plugin()).toMatchObject({ version: null, waiting: { version: expect.stringMatching(dev) } });
  expect((await world.service.post(`/api/plugins/${id}/approve`)).status).toBe(200);
  const mapping = { source: id, event_name: "comment", action: "created", canonical_trigger: "issue.created" };
  expect((await world.service.post("/api/tasks/sources", mapping)).status).toBe(201);
});

test("a save serves without a new approval, and the last webhook is replayed through it", { timeout: limit }, async () => {
  const early = await after(() => edit("src/source.ts", "API version 1.", "API version 1.0."), /Nothing to replay: no webhook/);
  expect(early).toMatch(/^\nsrc.source\.ts was saved\n/);
  expect(early).toMatch(new RegExp(`^${world.service.url}: tickets 0\\.1\\.0-dev\\.\\d+ serves$`, "m"));
  const body = JSON.stringify(commented.payload);
  const sent = await fetch(`${world.service.url}/webhook/${id}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-delivery": "d-1",
      "x-signature": createHmac("sha256", secret).update(body).digest("hex"),
    },
    body,
  });
  expect(sent.status).toBe(202);
  await eventually(() => tracker.comments({ project: "octo/app", issue: "7" }).length === 2, { timeout: 30_000 });
  const change = () => edit("src/parse.ts", '["sender", "login"], 200)', '["sender", "login"], 200)?.toUpperCase() ?? null');
  // The sample in conformance.ts expects the previous behaviour.
  const stopped = await after(change, /^tickets 0\.1\.0: [1-9]\d* of \d+ cases failed/m);
  expect(stopped).toMatch(/^FAIL source tickets: parse reads a comment\n {5}\S/m);
  expect(stopped.split("\n").length).toBeLessThan(40);
  expect(stopped).not.toContain("serves");
  const replayed = await after(
    () => edit("test/conformance.ts", 'actor: "ann"', 'actor: "ANN"'),
    /: succeeded.*: succeeded.*Answer of [^\n]*\n/s,
  );
  expect(replayed).toMatch(/^Replaying the webhook received at \S+:\n {2}event {4}comment\n {2}action {3}created\n/m);
  expect(replayed).toContain("  actor    ANN\n  triggers issue.created\n");
  expect(replayed).toMatch(new RegExp(`^ {2}\\w+: succeeded, ${tracker.url}\\S+\\n {4}Answer of `, "m"));
  expect(tracker.comments({ project: "octo/app", issue: "7" }).length).toBe(4);
});

test("a build that asks for more waits and names it; older development versions are deleted", { timeout: limit }, async () => {
  const { version } = await plugin();
  const http = '"permissions": { "http": [{ "host": "tickets.example.com", "methods": ["GET"], "why": "Reads." }] }, "needs"';
  const said = await after(() => edit("package.json", '"needs"', http), /Waiting for approval/);
  expect(said).toMatch(
    /^tickets \S+ requests these additional permissions:\n {2}http: GET https:\/\/tickets\.example\.com \(Reads\.\)$/m,
  );
  const now = await plugin();
  expect(now.version).toBe(version);
  expect(now.versions.map((one) => one.version)).toEqual([version, now.waiting?.version]);
});

test("build errors and invalid manifests are shown with their code", { timeout: limit }, async () => {
  await after(() => edit("package.json", '"manifest": 1', '"manifest": 1, "postinstall": "x"'), /BAD_MANIFEST: .*postinstall/);
  edit("package.json", '"postinstall": "x",', "");
  await after(() => edit("src/parse.ts", "export function", "export func tion"), /CANNOT_BUNDLE: src.parse\.ts:\d+: /);
  await after(() => world.service.stop(), /^/);
  await after(() => edit("src/parse.ts", "export func tion", "export function"), /No service answers at http/);
});

test("Ctrl-C ends it", { timeout: limit }, async () => {
  // Also in the middle of a round.
  await after(() => edit("src/source.ts", "API version 1.0.", "API version 1."), /was saved/);
  child.signal("SIGINT");
  expect(await child.ended).toEqual({ code: 0, signal: null });
});

test.each<[string[], string, number?]>([
  [["--replay"], "--replay needs a running service: set --url or SIGNALBOX_URL"],
  [["--url", "localhost"], "--url: must be an address such as http://localhost:8000"],
  [["--url", "http://127.0.0.1:9", "--key", "plain"], "--key: must be @file, which contains the key"],
  [["--fast"], "Usage: signalbox plugin dev [folder] [--url <address>] [--flags]"],
  [["nowhere"], "package.json does not exist. Change to the plugin's folder or name it", 1],
])("dev %j is refused", { timeout: limit }, async (args, text, code = 2) => {
  const refused = start(args);
  expect((await refused.ended).code).toBe(code);
  expect(refused.logs()).toContain(text);
});
