import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PackageRegistry, startRegistry } from "../harness/package-registry.ts";
import { root, run, runtimeUnderTest } from "../harness/process.ts";
import { eventually } from "../harness/wait.ts";
import { roundsOf, startWorld, type World } from "../harness/world.ts";

/** The path of a new author and an operator, from an empty folder to the model's call, as the README describes it. */
const limit = 240_000;
const id = "word-count";
let world: World;
let folder: string;
const plugin = () => join(folder, id);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-author-"));
  world = await startWorld({
    env: { ENCRYPTION_KEY: "5".repeat(64) },
    script: (request) =>
      roundsOf(request) === 0 && (request.tools ?? []).some((tool) => tool.function.name === "word-count__count_words")
        ? { tool_calls: [{ name: "word-count__count_words", arguments: { text: "three short words" } }] }
        : { content: "Done." },
  });
}, limit);
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function signalbox(args: readonly string[], cwd = folder) {
  const env = { SIGNALBOX_URL: world.service.url };
  const child = run(runtimeUnderTest(), "runtime/cli/main.ts", { args, env, cwd });
  const { code } = await child.ended;
  return { code, text: child.logs() };
}
const readme = readFileSync(join(root, "README.md"), "utf8");
/** A command of the README. */
const written = (command: string, cwd?: string): Promise<string> => {
  expect(readme).toContain(`signalbox ${command}`);
  return good(command.split(" "), cwd);
};
async function good(args: readonly string[], cwd?: string): Promise<string> {
  const { code, text } = await signalbox(args, cwd);
  expect([code, text]).toEqual([0, expect.any(String)]);
  return text;
}
const bad = async (args: readonly string[], text: RegExp, cwd?: string) =>
  expect(await signalbox(args, cwd)).toEqual({ code: 1, text: expect.stringMatching(text) });
const edit = (file: string, from: string, to: string) => {
  const before = readFileSync(join(plugin(), file), "utf8");
  expect(before).toContain(from);
  writeFileSync(join(plugin(), file), before.replace(from, to));
};
const offered = async () => {
  const before = world.model.chats().length;
  await world.service.post("/api/llm/chat", { agent_id: "pm_default", messages: [{ role: "user", content: "Count." }] });
  return {
    tools: world.model
      .chats()
      .slice(before)
      .flatMap((chat) => chat.tools ?? []),
    chats: world.model.chats().slice(before),
  };
};
const tarball = (version: string) => join(plugin(), `signalbox-plugin-${id}-${version}.tgz`);

describe("from an empty folder", () => {
  test(
    "scaffold, edit one line, test, pack",
    async () => {
      expect(await written("plugin new word-count")).toContain("signalbox plugin test");
      edit("src/plugin.ts", "Counts the words of a text.", "Counts the words of a text, as my team counts them.");
      const tested = await written("plugin test", plugin());
      expect(tested).toMatch(/\d+ passed, 0 failed/);
      expect(tested).toContain("ok   tool word-count.get_status: at 429 for an hour");
      const report = JSON.parse(readFileSync(join(plugin(), "dist/conformance.json"), "utf8"));
      expect(report).toMatchObject({ plugin: { id, version: "0.1.0" }, failed: 0, warnings: [] });
      expect(report.cases.length).toBe(report.passed);
      const only = await good(["plugin", "test", "--no-build", "--only", "get_status: at 503"], plugin());
      expect(only).toMatch(/^ok {3}tool word-count\.get_status: at 503.*\n1 passed, 0 failed\n$/);
      expect(JSON.parse(readFileSync(join(plugin(), "dist/conformance.json"), "utf8"))).toEqual(report);
      expect(await written("plugin pack", plugin())).toMatch(/sha512-[\w+/]+=*\n.*dist\/conformance.json/s);
      // The package contains what was tested, however often it is packed.
      const bytes = readFileSync(tarball("0.1.0"));
      await good(["plugin", "pack"], plugin());
      expect(readFileSync(tarball("0.1.0")).equals(bytes)).toBe(true);
    },
    limit,
  );

  test(
    "install: stored, shown, and nothing runs",
    async () => {
      const text = await written("plugin install signalbox-plugin-word-count-0.1.0.tgz", plugin());
      expect(text).toContain("http: GET https://status.example.com (Looks up whether a service is up.)");
      expect(text).toContain("capability: fetch");
      expect(text).toContain(`signalbox plugin approve ${id}`);
      const lock = JSON.parse(readFileSync(join(plugin(), "signalbox-plugins.lock.json"), "utf8"));
      expect(lock.plugins[id]).toMatchObject({ version: "0.1.0", integrity: expect.stringMatching(/^sha512-/) });
      expect((await offered()).tools.map((tool) => tool.function.name)).not.toContain("word-count__count_words");
    },
    limit,
  );

  test(
    "approve: the tool is offered to the model, called, and recorded",
    async () => {
      expect(await written("plugin approve word-count")).toContain(`${id} 0.1.0 is approved`);
      const seen = await eventually(
        async () => {
          const { tools, chats } = await offered();
          return tools.some((tool) => tool.function.name === "word-count__count_words") ? { tools, chats } : null;
        },
        { timeout: 20_000 },
      );
      const tool = seen.tools.find((one) => one.function.name === "word-count__count_words");
      expect(tool?.function).toMatchObject({ description: "Counts the words of a text, as my team counts them." });
      const { body } = await world.service.get<{ tool: string; status: string; result: unknown }[]>(
        "/api/tool-executions?limit=1&fields=result",
      );
      expect(body[0]).toMatchObject({ tool: "word-count.count_words", status: "succeeded", result: { words: 3 } });
      expect(await good(["plugin", "doctor"])).toMatch(/word-count 0\.1\.0: (ready|degraded), sandbox.*no problems/s);
    },
    limit,
  );
});

describe("versions", () => {
  const next = async (version: string) => {
    edit(
      "package.json",
      `"version": "${JSON.parse(readFileSync(join(plugin(), "package.json"), "utf8")).version}"`,
      `"version": "${version}"`,
    );
    await good(["plugin", "build"], plugin());
    await good(["plugin", "pack"], plugin());
  };
  const version = async () => (await world.service.get<{ version: string }>(`/api/plugins/${id}`)).body.version;

  test(
    "a version without new permissions serves at once; one with new permissions waits and names them",
    async () => {
      edit("src/plugin.ts", "max(100_000)", "max(50_000)");
      await next("0.1.1");
      const upgraded = await good(["plugin", "upgrade", tarball("0.1.1")]);
      expect(upgraded).toContain("asks for no new permissions");
      expect(upgraded).toContain(
        "warning: word-count 0.1.1 contains breaking changes that its version number does not announce: tool count_words: the input text has maxLength 50000, before 100000\n",
      );
      expect(await version()).toBe("0.1.1");
      edit("package.json", '"GET"', '"GET", "POST"'.replace(", ", ",\n            "));
      await next("0.2.0");
      const text = await good(["plugin", "upgrade", tarball("0.2.0")]);
      expect(text).toContain("0.2.0 asks for these additional permissions:\n  http: POST https://status.example.com");
      expect(await version()).toBe("0.1.1");
      await bad(["plugin", "doctor"], /0\.2\.0 waits for approval/);
      await good(["plugin", "approve", id, "0.2.0"]);
      expect(await version()).toBe("0.2.0");
      await bad(
        ["plugin", "upgrade", tarball("0.1.1")],
        /^OLDER: word-count 0\.1\.1 is older than the active version 0\.2\.0\. .*plugin rollback/,
      );
    },
    limit,
  );

  test(
    "rollback, disable, enable, info, permissions, logs, remove",
    async () => {
      await good(["plugin", "rollback", id]);
      expect(await version()).toBe("0.1.1");
      expect(await good(["plugin", "upgrade", tarball("0.2.0")])).toContain(
        "Already installed; 0.1.1 is active. To activate this version: signalbox plugin approve word-count 0.2.0\n",
      );
      expect(await version()).toBe("0.1.1");
      // A package of that name may be someone else\'s.
      await bad(["plugin", "upgrade", id], /^NO_PACKAGE: word-count came from .*\.tgz, not from a registry/);
      expect(await good(["plugin", "disable", id])).toBe(`${id} is stopped. Its approval is kept.\n`);
      expect(await good(["plugin", "enable", id])).toMatch(/^word-count is (enabled|stopped|starting|ready|degraded)\.\n$/);
      expect(JSON.parse(await good(["plugin", "info", id]))).toMatchObject({ id, version: "0.1.1", versions: { length: 3 } });
      expect(JSON.parse(await good(["plugin", "list"]))).toMatchObject([{ id }]);
      expect(await signalbox(["plugin", "list", id])).toEqual({ code: 2, text: "Usage: signalbox plugin list\n" });
      expect(await good(["plugin", "permissions", id])).toContain(`${id} 0.1.1 may do:\n  http: GET https://status.example.com`);
      const narrow = ["plugin", "permissions", id, "--narrow"];
      expect(await good([...narrow, '{"http": []}'])).toContain(
        "which an operator denied:\n  http: GET https://status.example.com",
      );
      expect(await good([...narrow, "status.example.com:GET"])).not.toContain("an operator denied");
      await bad([...narrow, "status.example.com:POST"], /http\[0\]\.methods\[0\]: POST is not among/);
      const wrong = await signalbox([...narrow, "status.example.com"]);
      expect(wrong).toEqual({ code: 2, text: expect.stringContaining("is not host:METHOD") });
      await good(["plugin", "logs", id]);
      expect(await good(["plugin", "remove", id])).toBe(`${id} is removed.\n`);
      await bad(["plugin", "info", id], /There is no plugin "word-count"/);
      expect(readFileSync(join(folder, "signalbox-plugins.lock.json"), "utf8")).not.toContain(id);
    },
    limit,
  );
});

describe("from a registry", () => {
  const name = `signalbox-plugin-${id}`;
  let registry: PackageRegistry;
  /** The digest in the statement about the build; `null`: that of the tarball. */
  let claimed: string | null = null;
  const attestations = () => {
    const sha512 =
      claimed ??
      createHash("sha512")
        .update(readFileSync(tarball("0.2.0")))
        .digest("hex");
    const workflow = {
      repository: "https://git.example/acme/count",
      path: ".github/workflows/publish.yml",
      ref: "refs/tags/v0.2.0",
    };
    const buildDefinition = {
      externalParameters: { workflow },
      resolvedDependencies: [{ digest: { gitCommit: "c0ffee" } }],
    };
    const payload = JSON.stringify({ subject: [{ digest: { sha512 } }], predicate: { buildDefinition } });
    const dsseEnvelope = { payload: Buffer.from(payload).toString("base64") };
    return [{ predicateType: "https://slsa.dev/provenance/v1", bundle: { dsseEnvelope } }];
  };
  beforeAll(async () => {
    const manifest = JSON.parse(readFileSync(join(plugin(), "package.json"), "utf8"));
    const read = () => readFileSync(tarball("0.2.0"));
    const published = { version: "0.2.0", manifest, read };
    registry = await startRegistry([
      { ...published, name, attestations },
      { ...published, name: `${name}-unproven` },
    ]);
    writeFileSync(join(folder, ".npmrc"), `registry=${registry.url}/\ncache=${join(folder, "cache")}\nfetch-retries=0\n`);
    writeFileSync(join(folder, "package.json"), "{}");
  });
  afterAll(() => registry?.close());

  test(
    "the package is fetched, compared with its integrity, approved in one go",
    async () => {
      const text = await good(["plugin", "install", name, "--approve"]);
      expect(text).toContain(`${id} 0.2.0 from ${name}@0.2.0`);
      expect(text).toContain("is approved");
      // This registry has no keys, so its statements cannot be verified.
      expect(text).toContain("\n  signature: not verified (the registry publishes no keys)\n");
      expect(text).toMatch(
        /provenance: not verified \(the registry publishes no keys\); the statement says: built from https:\/\/git\.example\/acme\/count \(refs\/tags\/v0\.2\.0, commit c0ffee\) by workflow \.github\/workflows\/publish\.yml\n/,
      );
      expect(readdirSync(folder, { recursive: true }).filter((file) => basename(String(file)) === "ran")).toEqual([]);
      const lock = JSON.parse(readFileSync(join(folder, "signalbox-plugins.lock.json"), "utf8"));
      expect(lock.plugins[id]).toMatchObject({ version: "0.2.0", source: `${name}@0.2.0` });
      expect(await good(["plugin", "upgrade", id])).toContain("asks for no new permissions");
      // Another service gets the contents of the lock.
      await good(["plugin", "install"]);
    },
    limit,
  );

  test(
    "a search shows a plugin's permissions before it is installed",
    async () => {
      const text = await good(["plugin", "search", "word"]);
      expect(text).toContain(
        `${name} 0.2.0  Tools for Signalbox.\n  tools; sdk ^0.1.0\n  http: GET, POST https://status.example.com`,
      );
      expect(text).toContain("  capability: fetch\n  provenance: stated; install verifies it\n");
      const unproven = text.slice(text.indexOf(`${name}-unproven`));
      expect(unproven).toContain("\n  tools; sdk ^0.1.0\n");
      expect(unproven).toContain("  capability: fetch\n  provenance: none\n");
      // Version 0.2.0 was packed without a test of this bundle.
      expect(await good(["plugin", "search", "word", "--reports"])).toContain("\n  conformance: no report for this bundle\n");
      expect(await signalbox(["plugin", "search", "nothing-of-the-kind"])).toEqual({ code: 1, text: "No plugins found.\n" });
    },
    limit,
  );

  test(
    "provenance of another tarball is refused",
    async () => {
      claimed = "0".repeat(128);
      await bad(["plugin", "install", name], /^INTEGRITY: .*provenance in the registry belongs to another tarball/);
      claimed = null;
    },
    limit,
  );

  test(
    "bytes that do not match the registry or the lock file are refused",
    async () => {
      registry.lie();
      rmSync(join(folder, "cache"), { recursive: true, force: true });
      await bad(["plugin", "install", name], /^(REGISTRY|INTEGRITY): .*sha512|EINTEGRITY/s);
      const lock = join(folder, "signalbox-plugins.lock.json");
      writeFileSync(lock, readFileSync(lock, "utf8").replace(/"sha256": "[0-9a-f]{4}/, '"sha256": "0000'));
      await bad(
        ["plugin", "install", tarball("0.2.0")],
        /^INTEGRITY: signalbox-plugins\.lock\.json locks word-count 0\.2\.0 to the SHA-256 0000/,
      );
      await bad(["plugin", "install", "signalbox-plugin-not-there"], /^REGISTRY: signalbox-plugin-not-there: .*404/s);
    },
    limit,
  );
});
