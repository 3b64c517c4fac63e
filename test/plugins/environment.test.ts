import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Service, startService } from "../harness/service.ts";

const limit = 120_000;

describe("plugins that the environment names", () => {
  const upOf = async ({ url }: Service) => (await (await fetch(`${url}/metrics`)).text()).match(/^signalbox_plugin_up\{.*/gm);
  const clock = join(import.meta.dirname, "../../examples/clock/clock.ts");

  test(
    "without a Deno it is refused with a code, and the service serves",
    async () => {
      await using other = await startService({ env: { SIGNALBOX_PLUGINS: clock, SIGNALBOX_DENO: "/nonexistent/deno" } });
      const { body } = await other.get<{ name: string; code: string; reason: string }[]>("/api/refused-plugins");
      expect(body).toMatchObject([{ name: clock, code: "NO_SANDBOX" }]);
      expect(body[0]?.reason).toContain("/nonexistent/deno");
      expect(await upOf(other)).toEqual([`signalbox_plugin_up{plugin="${clock}"} 0`]);
    },
    limit,
  );
  test(
    "a pipe in the place of a module or a manifest is refused, and the service serves",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "signalbox-pipe-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const pipe = join(folder, "pipe");
      mkdirSync(join(folder, "dist"));
      for (const path of [pipe, join(folder, "dist/plugin.json")]) execFileSync("mkfifo", [path]);
      await using service = await startService({ env: { SIGNALBOX_PLUGINS: `${pipe},${folder}` } });
      const { body } = await service.get<{ name: string; code: string; reason: string }[]>("/api/refused-plugins");
      expect(body).toMatchObject([
        {
          name: pipe,
          code: "NOT_FOUND",
          reason: expect.stringMatching(/pipe is not a regular file; name a module, or a folder/),
        },
        { name: folder, code: "NOT_BUILT", reason: expect.stringMatching(/has no dist\/plugin\.json/) },
      ]);
    },
    limit,
  );
  test(
    "it runs in the service's process only if its version and digest are named",
    async () => {
      await using sandboxed = await startService({ env: { SIGNALBOX_PLUGINS: clock } });
      const { body } = await sandboxed.get<{ id: string; tier: string; sha256: string; origin: string }>("/api/plugins/clock");
      expect(body).toMatchObject({ tier: "sandbox", origin: "environment" });
      expect((await sandboxed.post("/api/plugins/clock/disable")).status).toBe(409);
      await sandboxed.restart({ SIGNALBOX_TRUSTED_PLUGINS: `clock@1.0.0#${body.sha256}` });
      expect((await sandboxed.get<{ tier: string }>("/api/plugins/clock")).body.tier).toBe("in_process");
      expect(await upOf(sandboxed)).toEqual(['signalbox_plugin_up{plugin="clock"} 1']);
      expect((await sandboxed.post("/api/tools/clock.now/execute", { parameters: {} })).status).toBe(200);
      await sandboxed.restart({ SIGNALBOX_TRUSTED_PLUGINS: `clock@2.0.0#${body.sha256}` });
      const { body: refused } = await sandboxed.get<{ code: string; reason: string }[]>("/api/refused-plugins");
      expect(refused).toMatchObject([{ code: "MODIFIED" }]);
      expect(refused[0]?.reason).toContain("the file with this SHA-256 must be clock@2.0.0; it is clock@1.0.0");
    },
    limit,
  );
});
