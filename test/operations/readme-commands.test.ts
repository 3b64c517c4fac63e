import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { files } from "../architecture/tree.ts";
import { root, runProgram } from "../harness/process.ts";
import { startWorld, type World } from "../harness/world.ts";

/** A block of commands on a page. */
interface Block {
  readonly page: string;
  readonly text: string;
}

const command =
  /^\s*(\w+=\S+ )*(alias|apt-get|buf|cd|cp|curl|deno|docker|for|node|npm|npx|openssl|protoc|python3|signalbox|\.ci)\b/;
const blocksOf = (page: string): Block[] =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, language = ""]) => ["", "sh", "bash", "console"].includes(language))
    .map(([, , text = ""]) => ({ page, text }))
    .filter(({ text }) => text.split("\n").some((line) => command.test(line)));
const pages = files.filter((path) => path.endsWith(".md") && !/\/templates\/|^CHANGELOG/.test(path));
const blocks = pages.flatMap(blocksOf);

/** Pages whose commands other tests run, or that need software outside of this repository: which pages, and why. */
const elsewhere: Readonly<Record<string, string>> = {
  ".docs/README.md": "test/operations/docs.test.ts, and a step of .ci/run builds the site",
  ".docs/guides/start.md": "examples/demo/main.test.ts, and npm run release -- --dry-run; docker needs an engine",
  "examples/deploy/upkeep.md": "test/operations/backup.test.ts",
  "sdk/tutorial.md": "test/plugins/tutorial.test.ts, and npm run release -- --dry-run",
  "CONTRIBUTING.md": "npm test and .ci/run are what runs this test; npm run check is part of .ci/run",
  "examples/agent-bridges/README.md": "test/gateway/a2a-bridge.test.ts and test/gateway/coding-agent.test.ts",
  "examples/agent-python/README.md": "test/gateway/example-agents.test.ts",
  "examples/agent-typescript/README.md": "test/gateway/example-agents.test.ts",
  "examples/bug-triage/README.md": "runtime/cli/plugin/packages.test.ts",
  "examples/couchdb/README.md": "runtime/cli/plugin/packages.test.ts",
  "examples/demo/README.md": "examples/demo/main.test.ts",
  "examples/memory-sqlite/README.md": "test/memory/memory.test.ts",
  "examples/openapi-client/README.md": "test/api/openapi-client.test.ts",
  "examples/osv/README.md": "runtime/cli/plugin/packages.test.ts",
  "runtime/cli/plugin/README.md": "npm run release -- --dry-run, a step of .ci/run",
  "runtime/gateway/README.md": "test/gateway/door.test.ts",
  "runtime/transports/grpc/README.md": ".ci/drift.mjs and test/gateway/door.test.ts",
  "test/chaos/README.md": "npm run chaos is no test: it takes minutes to hours",
  "plugins/README.md":
    "runtime/cli/plugin/packages.test.ts builds the connectors; test/plugins/author.test.ts packs and installs",
  "plugins/gitea/README.md": "test/plugins/connectors.test.ts",
  "plugins/linear/README.md": "test/plugins/connectors.test.ts",
  "plugins/slack/README.md": "test/plugins/slack.test.ts",
  "plugins/queue-nats/README.md": "test/plugins/message-buses.test.ts",
  "plugins/queue-amqp/README.md": "test/plugins/message-buses.test.ts",
  "plugins/wiki/README.md": "test/memory/knowledge-sources.test.ts; the addresses are those of a Confluence Cloud account",
};
/** The same for single blocks of the README, by their content. */
const elsewhereInReadme: readonly [string, string][] = [
  ["npm run demo", "examples/demo/main.test.ts"],
  ["npm test", "this is part of it"],
  ["signalbox plugin new word-count", "test/plugins/author.test.ts"],
];

const runHere = blocks.filter(
  ({ page, text }) => !elsewhere[page] && !(page === "README.md" && elsewhereInReadme.some(([part]) => text.includes(part))),
);

describe("commands on the pages", { tags: ["curl"] }, () => {
  const key = "key-of-the-operator";
  let world: World;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-readme-"));
    world = await startWorld({ apiKey: key, env: { API_KEYS: key, ENCRYPTION_KEY: "7".repeat(64) } });
  }, 120_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A reader's changes to a block before running it: their own addresses and names. */
  const script = (text: string) =>
    text
      .replaceAll("http://localhost:8000", world.service.url)
      .replaceAll("localhost:9090", `127.0.0.1:${world.service.grpcPort}`)
      .replaceAll("YOUR-ACCOUNT/YOUR-REPOSITORY", "octo/app")
      .replace(/\bcurl (?!.*--fail)/g, "curl --fail-with-body --silent --show-error ");

  test.each(runHere.map(({ page, text }) => [page, text.trim().split("\n")[0] ?? "", text]))(
    "%s: %s",
    { timeout: 120_000 },
    async (_, __, text) => {
      const names = `signalbox() { "${root}/node_modules/.bin/node" "${root}/runtime/cli/main.ts" "$@"; }`;
      const env = { SIGNALBOX_URL: world.service.url, SIGNALBOX_API_KEY: key, DATA_DIR: join(folder, "data") };
      const shell = runProgram("bash", ["-euo", "pipefail", "-c", `${names}\n${script(text)}`], { cwd: folder, env });
      expect([(await shell.ended).code, shell.logs()]).toEqual([0, expect.any(String)]);
    },
  );
});

test("each command of a page is run, here or by the named test", () => {
  expect(Object.keys(elsewhere).filter((page) => !blocks.some((one) => one.page === page))).toEqual([]);
  const readme = blocks.filter(({ page }) => page === "README.md").map(({ text }) => text);
  expect(elsewhereInReadme.filter(([part]) => !readme.some((text) => text.includes(part)))).toEqual([]);
  const tests = [...Object.values(elsewhere), ...elsewhereInReadme.map(([, by]) => by)].flatMap(
    (by) => by.match(/\S+\.test\.ts/g) ?? [],
  );
  expect(tests.filter((path) => !files.includes(path))).toEqual([]);
  expect(runHere.length).toBeGreaterThan(4);
});

test("one name for an API key: SIGNALBOX_API_KEY for clients, API_KEYS for the service", () => {
  const wrong = pages.flatMap((page) =>
    [...readFileSync(join(root, page), "utf8").matchAll(/\$\{?(?:API_KEY|KEY|TOKEN|SIGNALBOX_KEY)\b/g)].map(
      ([name]) => `${page}: ${name}`,
    ),
  );
  expect(wrong).toEqual([]);
});
