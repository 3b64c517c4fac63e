import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Built, buildPlugin, toolOf } from "../harness/plugin-bundle.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const limit = 120_000;

interface Plugin {
  readonly version: string | null;
  readonly state: string;
  readonly code: string | null;
  readonly waiting: { version: string; widens: string[] } | null;
  readonly versions: readonly { version: string; rolled_back_at: string | null }[];
}
/** Reports its version and its setting; does not start with the setting `bad`. */
const code = (version: string, setUp = "") => `
  import { definePlugin, tool } from "@signalbox/sdk";
  import { z } from "zod";
  export default definePlugin({
    id: "teller", version: "${version}", sdk: "^0.1.0", needs: [],
    config: z.object({ mode: z.enum(["quiet", "loud"]).default("quiet"), corp_token: z.string().default("") }),
    setup: ({ config }) => {
      ${setUp}
      return { tools: { say: tool({
        about: "Says.", effect: "read", input: z.object({}), output: z.object({ said: z.string() }),
        run: () => ({ said: "${version} " + config.mode + config.corp_token }),
      }) } };
    },
  });`;
const build = (version: string, setUp = ""): Promise<Built> =>
  buildPlugin(code(version, setUp), {
    id: "teller",
    version,
    config: {
      type: "object",
      properties: {
        mode: { type: "string", enum: ["quiet", "loud"], default: "quiet" },
        corp_token: { type: "string", default: "" },
      },
    },
    contributes: { tools: { say: toolOf("Says.") } },
  });

describe("on a service", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ env: { ENCRYPTION_KEY: "11".repeat(32), PLUGIN_TELLER_CORP_TOKEN: "of-teller-corp" } });
  }, limit);
  afterAll(() => service?.close());
  const get = async () => (await service.get<Plugin>("/api/plugins/teller")).body;
  const say = async () =>
    (await service.post<{ result: { said: string } | null }>("/api/tools/teller.say/execute", { parameters: {} })).body.result
      ?.said;
  const install = async (built: Built, origin = `signalbox-plugin-teller@${built.manifest.version}`) =>
    service.post<Plugin & { error?: string }>("/api/plugins", { ...built.body, origin });
  const configure = (settings: Record<string, string | null>) =>
    service.put<{ error?: string }>("/api/plugins/teller/settings", { settings });

  test(
    "a plugin cannot read the variable of another whose id begins with its own",
    async () => {
      expect((await install(await build("1.0.0"))).status).toBe(201);
      expect((await service.post("/api/plugins/teller/approve", {})).status).toBe(200);
      await eventually(async () => expect(await say()).toBe("1.0.0 quiet"));
    },
    limit,
  );
  test(
    "another package with the same id does not inherit the approval",
    async () => {
      const { body } = await install(await build("1.0.1"), "evil-teller@1.0.1");
      expect(body).toMatchObject({ version: "1.0.0", waiting: { version: "1.0.1" } });
      expect(body.waiting?.widens).toEqual(["publisher: evil-teller, before signalbox-plugin-teller"]);
      expect(await say()).toBe("1.0.0 quiet");
    },
    limit,
  );
  test(
    "an upgrade that does not start is neither used nor stored",
    async () => {
      const { status, body } = await install(await build("1.1.0", 'throw new Error("no database here");'));
      expect(status).toBe(409);
      expect(body.error).toMatch(/1\.1\.0 does not start, so 1\.0\.0 keeps serving.*no database here/);
      expect(await say()).toBe("1.0.0 quiet");
      // The fixed one has the same number.
      expect((await install(await build("1.1.0"))).status).toBe(201);
      await eventually(async () => expect(await say()).toBe("1.1.0 quiet"));
    },
    limit,
  );
  test(
    "invalid settings are refused, and the old ones stay",
    async () => {
      expect((await configure({ mode: "loud" })).status).toBe(200);
      await eventually(async () => expect(await say()).toBe("1.1.0 loud"));
      const { status, body } = await configure({ mode: "shouting" });
      expect(status).toBe(400);
      expect(body.error).toContain("settings.mode");
      expect(body.error).not.toContain("shouting");
      expect(await get()).toMatchObject({ state: "ready", code: null });
      expect(await say()).toBe("1.1.0 loud");
      expect((await configure({ mode: null })).status).toBe(200);
      await eventually(async () => expect(await say()).toBe("1.1.0 quiet"));
    },
    limit,
  );
  test(
    "settings with which it does not start are refused, and the old ones stay",
    async () => {
      expect((await install(await build("1.2.0", 'if (config.corp_token === "bad") throw new Error("bad token");'))).status).toBe(
        201,
      );
      await eventually(async () => expect(await say()).toBe("1.2.0 quiet"));
      const { status, body } = await configure({ corp_token: "bad" });
      expect(status).toBe(400);
      expect(body.error).toMatch(/does not start with them \(SETUP_FAILED: .*The old settings still apply/);
      expect(await say()).toBe("1.2.0 quiet");
    },
    limit,
  );
  test(
    "a rollback is recorded, so that the next one does not choose the withdrawn version",
    async () => {
      expect((await service.post("/api/plugins/teller/approve", { version: "1.1.0" })).status).toBe(200);
      const { versions } = await get();
      const rolledBack = versions.filter(({ rolled_back_at }) => rolled_back_at !== null).map(({ version }) => version);
      expect(rolledBack).toEqual(["1.2.0"]);
      await eventually(async () => expect(await say()).toBe("1.1.0 quiet"));
      expect((await service.post("/api/plugins/teller/approve", { version: "1.2.0" })).status).toBe(200);
      expect((await get()).versions.every(({ rolled_back_at }) => rolled_back_at === null)).toBe(true);
    },
    limit,
  );

  test(
    "whatever an operator does, and in whichever order, what serves is approved and starts, and no rollback goes back to a withdrawn version",
    async () => {
      type State = { version: string; mode: string };
      let now: State = { version: "1.2.0", mode: "quiet" };
      let withdrawn = new Set<string>();
      const approved = ["1.0.0", "1.1.0", "1.2.0"];
      const approve = async (version: string) => {
        expect((await service.post("/api/plugins/teller/approve", { version })).status).toBe(200);
        const isRollback = approved.indexOf(version) < approved.indexOf(now.version);
        withdrawn = new Set([...withdrawn, ...(isRollback ? [now.version] : [])].filter((one) => one !== version));
        now = { ...now, version };
      };
      const actions: Record<string, () => Promise<void>> = {
        ...Object.fromEntries(approved.map((version) => [`approve ${version}`, () => approve(version)])),
        rollback: async () => {
          const env = { SIGNALBOX_URL: service.url };
          const child = run(runtimeUnderTest(), "runtime/cli/main.ts", {
            args: ["plugin", "rollback", "teller"],
            env,
            cwd: service.folder,
          });
          const { code } = await child.ended;
          const target = approved.slice(0, approved.indexOf(now.version)).findLast((version) => !withdrawn.has(version));
          expect([code, child.logs()]).toEqual([target ? 0 : 1, expect.any(String)]);
          if (!target) return;
          withdrawn.add(now.version);
          now = { ...now, version: target };
        },
        "valid settings": async () => {
          const mode = now.mode === "loud" ? "quiet" : "loud";
          expect((await configure({ mode })).status).toBe(200);
          now = { ...now, mode };
        },
        "invalid settings": async () => expect((await configure({ mode: "shouting" })).status).toBe(400),
        "settings with which one version does not start": async () => {
          const { status } = await configure({ corp_token: "bad" });
          expect(status).toBe(now.version === "1.2.0" ? 400 : 200);
          if (status === 200) expect((await configure({ corp_token: null })).status).toBe(200);
        },
        "an upgrade that does not start": async () =>
          expect((await install(await build("1.3.0", 'throw new Error("no");'))).status).toBe(409),
        "another publisher": async () => {
          const { body } = await install(await build("1.4.0"), "evil-teller@1.4.0");
          expect(body).toMatchObject({ version: now.version, waiting: { version: "1.4.0" } });
        },
        "off and on": async () => {
          for (const verb of ["disable", "enable"]) expect((await service.post(`/api/plugins/teller/${verb}`)).status).toBe(200);
        },
      };
      const orders = fc.array(fc.constantFrom("rollback", ...Object.keys(actions)), { minLength: 8, maxLength: 8 });
      const holds = async (order: readonly string[]) => {
        for (const name of order) {
          await actions[name]?.();
          await eventually(async () => expect(await say()).toBe(`${now.version} ${now.mode}`), { timeout: 20_000 });
          const { version, state, versions } = await get();
          expect({ name, version, state }).toEqual({ name, version: now.version, state: "ready" });
          const back = versions.filter(({ rolled_back_at }) => rolled_back_at !== null).map((one) => one.version);
          expect(new Set(back)).toEqual(withdrawn);
        }
      };
      const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
      await fc.assert(fc.asyncProperty(orders, holds), { seed, numRuns: Number(process.env.FUZZ_RUNS ?? 1), endOnFailure: true });
    },
    limit,
  );
});
