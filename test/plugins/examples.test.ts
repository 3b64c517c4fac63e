import { createHmac } from "node:crypto";
import { cpSync, existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GiteaServer } from "../../examples/gitea/test/server.ts";
import opened from "../../examples/gitea/test/webhooks/issue-opened.json" with { type: "json" };
import { build } from "../../runtime/cli/plugin/build.ts";
import { readConformance } from "../../runtime/cli/plugin/conformance/read-conformance.ts";
import type { Report } from "../../runtime/cli/plugin/conformance/report.ts";
import { runConformance } from "../../runtime/cli/plugin/conformance/run.ts";
import { kinds } from "../../runtime/cli/plugin/kinds.ts";
import { scaffold } from "../../runtime/cli/plugin/scaffold.ts";
import { root, runProgram } from "../harness/process.ts";
import { eventually } from "../harness/wait.ts";
import { startWorld } from "../harness/world.ts";

/** The plugins in examples/, and those that `plugin new` makes, as strangers: nothing installed, in the sandbox. */
let work: string;
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), "signalbox-examples-"));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

async function play(folder: string): Promise<Report> {
  const config = (await readConformance(folder))?.config ?? {};
  const built = await build(folder, config);
  // What is there already says what the build says.
  expect(built.rewritten).toEqual([]);
  return runConformance({ folder, built, record: false, onCase: () => {} });
}
const failures = ({ cases }: Report) => cases.filter(({ ok }) => !ok).map(({ name, error }) => `${name}: ${error}`);

const examples = readdirSync(join(root, "examples")).filter((name) => {
  const file = join(root, "examples", name, "package.json");
  return existsSync(file) && "signalbox" in JSON.parse(readFileSync(file, "utf8"));
});

// At the same time: most of what they take is waiting for faults to pass.
describe.concurrent("examples", () => {
  test("there is one of each of four kinds", () => {
    const kinds = examples.flatMap(
      (name) => JSON.parse(readFileSync(join(root, "examples", name, "package.json"), "utf8")).signalbox.kinds,
    );
    expect([...new Set(kinds)]).toEqual(expect.arrayContaining(["tools", "sources", "memories", "useCases"]));
  });
  test.each(examples)(
    "%s passes",
    async (name) => {
      const folder = join(work, "examples", name);
      cpSync(join(root, "examples", name), folder, {
        recursive: true,
        filter: (path) => !/[\\/](node_modules|dist)$/.test(path),
      });
      const report = await play(folder);
      expect(failures(report)).toEqual([]);
      expect(report.warnings).toEqual([]);
    },
    120_000,
  );
});

test("gitea in a service: a signed webhook becomes comments at the server", async () => {
  const folder = join(work, "served");
  cpSync(join(root, "examples/gitea"), folder, { recursive: true, filter: (path) => !/[\\/](node_modules|dist)$/.test(path) });
  await build(folder);
  const server = await new GiteaServer().listen();
  const secret = "gitea-webhook-secret";
  const settings = { PLUGIN_GITEA_URL: server.url, PLUGIN_GITEA_TOKEN: "gitea-test-token", PLUGIN_GITEA_WEBHOOK_SECRET: secret };
  try {
    await using world = await startWorld({ env: { SIGNALBOX_PLUGINS: folder, ...settings } });
    const { service } = world;
    const mapping = { source: "gitea", event_name: "issues", action: "opened", canonical_trigger: "issue.created" };
    expect((await service.post("/api/tasks/sources", mapping)).status).toBe(201);
    const body = JSON.stringify(opened.payload);
    const deliver = (key: string) =>
      fetch(`${service.url}/webhook/gitea`, {
        method: "POST",
        headers: { ...opened.headers, "x-gitea-signature": createHmac("sha256", key).update(body).digest("hex") },
        body,
      });
    expect((await deliver("another secret")).status).toBe(401);
    const taken = await deliver(secret);
    expect([taken.status, await taken.json()]).toMatchObject([202, { status: "accepted", executions: { length: 2 } }]);
    expect(await (await deliver(secret)).json()).toMatchObject({ status: "duplicate" });
    const subject = { project: "octo/app", issue: "7" };
    await eventually(() => server.comments(subject).length === 2, { timeout: 30_000 });
    expect(server.comments(subject).every((comment) => /^<!-- signalbox:.*Answer of /s.test(comment))).toBe(true);
  } finally {
    await server.close();
  }
}, 120_000);

describe.concurrent("plugin new", () => {
  test("the tests that each brings pass", async () => {
    const own = globSync("runtime/cli/plugin/templates/*/test/plugin.test.ts", { cwd: root });
    expect(own.length).toBe(Object.keys(kinds).length);
    const child = runProgram(join(root, "node_modules/.bin/node"), ["--test", ...own], { cwd: root, env: {} });
    expect([(await child.ended).code, child.logs()]).toEqual([0, expect.stringMatching(/fail 0$/m)]);
  }, 60_000);
  // The tools are in plugin-author.test.ts.
  test.each(Object.keys(kinds).filter((kind) => kind !== "tools"))(
    "--kind %s passes untouched",
    async (kind) => {
      const folder = join(work, `my-${kind.toLowerCase()}`);
      scaffold({ folder, kind });
      const report = await play(folder);
      expect(failures(report)).toEqual([]);
      expect(report.passed).toBeGreaterThan(8);
    },
    120_000,
  );
});
