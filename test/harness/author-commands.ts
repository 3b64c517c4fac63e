import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { root, run, runtimeUnderTest } from "./process.ts";

/** Runs commands of `signalbox` as the author of a plugin: in a folder, against a service. */
export function authorCommands(opened: () => { readonly url: string; readonly folder: string }) {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const signalbox = async (args: readonly string[], cwd = opened().folder) => {
    const env = { SIGNALBOX_URL: opened().url };
    const child = run(runtimeUnderTest(), "runtime/cli/main.ts", { args, env, cwd });
    const { code } = await child.ended;
    return { code, text: child.logs() };
  };
  /** Expects success, and returns what it printed. */
  const good = async (args: readonly string[], cwd?: string): Promise<string> => {
    const { code, text } = await signalbox(args, cwd);
    expect([code, text]).toEqual([0, expect.any(String)]);
    return text;
  };
  return {
    signalbox,
    good,
    /** Expects a failure with this message. */
    bad: async (args: readonly string[], text: RegExp, cwd?: string) =>
      expect(await signalbox(args, cwd)).toEqual({ code: 1, text: expect.stringMatching(text) }),
    /** A command of the README, which must succeed. */
    written: (command: string, cwd?: string): Promise<string> => {
      expect(readme).toContain(`signalbox ${command}`);
      return good(command.split(" "), cwd);
    },
  };
}
