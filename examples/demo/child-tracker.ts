import { spawn } from "node:child_process";
import { join } from "node:path";

interface ChildTracker {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a plugin's simulated tracker as a process, which prints its URL. */
export async function startChildTracker(source: string): Promise<ChildTracker> {
  const file = join(import.meta.dirname, "../../plugins", source, "test-tracker.ts");
  const child = spawn(process.execPath, "Deno" in globalThis ? ["run", "-A", "--quiet", file] : [file], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const end = new Promise<void>((done) => void child.once("close", () => done()));
  const close = async () => {
    child.kill("SIGKILL");
    await end;
  };
  let [said, complaint] = ["", ""];
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaint += text));
  const url = await new Promise<string>((done, fail) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes("\n")) done((JSON.parse(said) as { url: string }).url);
    });
    child.once("close", () => fail(new Error(`The tracker of ${source} did not start:\n${complaint}`)));
  });
  return { url, close };
}
