import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authorCommands } from "../harness/author-commands.ts";
import { eventually } from "../harness/wait.ts";
import { roundsOf, startWorld, type World } from "../harness/world.ts";
import { fromRegistry } from "./author-registry.ts";

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

const commands = authorCommands(() => ({ url: world.service.url, folder }));
const { signalbox, written, good, bad } = commands;
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
      expect(tested).toContain("ok   tool word-count.get_status: run reports the status 429 with a Retry-After of an hour");
      const report = JSON.parse(readFileSync(join(plugin(), "dist/conformance.json"), "utf8"));
      expect(report).toMatchObject({ plugin: { id, version: "0.1.0" }, failed: 0, warnings: [] });
      expect(report.cases.length).toBe(report.passed);
      const only = await good(["plugin", "test", "--no-build", "--only", "get_status: run reports the status 503"], plugin());
      expect(only).toMatch(/^ok {3}tool word-count\.get_status: run reports the status 503.*\n1 passed, 0 failed\n$/);
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
        { timeout: 60_000 },
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
      expect(upgraded).toContain("requests no new permissions");
      expect(upgraded).toContain(
        "warning: word-count 0.1.1 contains breaking changes that its version number does not announce: tool count_words: the input text has maxLength 50000, before 100000\n",
      );
      expect(await version()).toBe("0.1.1");
      edit("package.json", '"GET"', '"GET", "POST"'.replace(", ", ",\n            "));
      await next("0.2.0");
      const text = await good(["plugin", "upgrade", tarball("0.2.0")]);
      expect(text).toContain("0.2.0 requests these additional permissions:\n  http: POST https://status.example.com");
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
      expect(await good(["plugin", "permissions", id])).toContain(
        `Permissions of ${id} 0.1.1:\n  http: GET https://status.example.com`,
      );
      const narrow = ["plugin", "permissions", id, "--narrow"];
      expect(await good([...narrow, '{"http": []}'])).toContain(
        "and an operator denied:\n  http: GET https://status.example.com",
      );
      expect(await good([...narrow, "status.example.com:GET"])).not.toContain("an operator denied");
      await bad([...narrow, "status.example.com:POST"], /http\[0\]\.methods\[0\]: POST is not a permission/);
      const wrong = await signalbox([...narrow, "status.example.com"]);
      expect(wrong).toEqual({ code: 2, text: expect.stringContaining("is not host:METHOD") });
      await good(["plugin", "logs", id]);
      expect(await good(["plugin", "remove", id])).toBe(`${id} is removed.\n`);
      await bad(["plugin", "info", id], /There is no plugin "word-count"/);
      const lock = join(folder, "signalbox-plugins.lock.json");
      expect(readFileSync(lock, "utf8")).not.toContain(id);
      await bad(["plugin", "remove", id], /There is no plugin "word-count"/);
      // A removal whose lock file could not be written is repeated.
      const listed = { version: "0.1.0", source: "x", integrity: null, sha256: "0".repeat(64) };
      writeFileSync(lock, JSON.stringify({ lock: 1, plugins: { [id]: listed } }));
      expect(await good(["plugin", "remove", id])).toBe(`${id} is removed.\n`);
      expect(readFileSync(lock, "utf8")).not.toContain(id);
    },
    limit,
  );
});

describe("from a registry", () => {
  fromRegistry(() => ({ folder, manifest: join(plugin(), "package.json"), tarball: tarball("0.2.0"), commands }));
});
