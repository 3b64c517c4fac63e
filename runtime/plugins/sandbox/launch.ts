import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Refusal } from "../admit.ts";

/** How a sandboxed process is started: a command and its arguments; its environment is `environment`, nothing of the host's. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/** An unwritable `DENO_DIR`: no cache, no Cache API, no localStorage, so nothing of the disk can be filled. */
export const environment: Readonly<Record<string, string>> = {
  DENO_DIR: "/dev/null/none",
  NO_COLOR: "1",
  DENO_NO_UPDATE_CHECK: "1",
};

export interface LaunchOptions {
  /** Path of the Deno binary, where the operator names one. */
  readonly deno?: string | undefined;
  /** The one file that the process may read. */
  readonly bundle: string;
  readonly memoryMb: number;
  /** Which walls of the operating system there are; see `wallsHere`. */
  readonly walls: Walls;
}

/** Tools of Linux that a process is started through; absent elsewhere, where Deno's permissions and the watchdog serve alone. */
export interface Walls {
  readonly prlimit: string | null;
  readonly setpriv: string | null;
  /** User and group that the process runs as, where the service runs as root. */
  readonly uid: number | null;
}

const find = (name: string): string | null =>
  ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].map((folder) => join(folder, name)).find(existsSync) ?? null;

export function wallsHere(): Walls {
  if (process.platform !== "linux") return { prlimit: null, setpriv: null, uid: null };
  const setpriv = find("setpriv");
  return { prlimit: find("prlimit"), setpriv, uid: setpriv && process.getuid?.() === 0 ? 65_534 : null };
}

/** The command line of a sandboxed process. Throws a `Refusal` where there is no Deno. */
export function launchOf({ deno, bundle, memoryMb, walls }: LaunchOptions): Launch {
  const file = realpathSync(bundle);
  const line = [
    ...privileges(walls),
    ...(walls.prlimit
      ? [walls.prlimit, `--data=${(704 + memoryMb) * 1024 * 1024}`, "--core=0", "--nofile=128", "--fsize=0"]
      : []),
    deno === undefined ? denoHere() : named(deno),
    ...["run", "--no-prompt", "--no-remote", "--no-npm", "--no-lock", "--no-config", "--cached-only", "--deny-import"],
    `--v8-flags=--max-old-space-size=${memoryMb}`,
    `--allow-read=${file}`,
    bootFile(),
    pathToFileURL(file).href,
  ];
  const [command, ...args] = line as [string, ...string[]];
  return { command, args };
}

function privileges({ setpriv, uid }: Walls): string[] {
  if (!setpriv) return [];
  const user = uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  // The process must not outlive a host that was killed, however busy it is.
  return [setpriv, "--pdeathsig", "KILL", "--no-new-privs", ...user];
}

/** The boot beside this file: TypeScript in a checkout, one JavaScript file in the package. */
function bootFile(): string {
  const built = fileURLToPath(new URL("./boot.js", import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL("./boot/main.ts", import.meta.url));
}

let known: string | undefined;

/** The Deno that runs this service, that of the npm package `deno`, or one where its installers put it. */
export function denoHere(): string {
  known ??= runningDeno() ?? packagedDeno() ?? installedDeno();
  if (known) return known;
  throw new Refusal(
    "NO_SANDBOX",
    "Plugins of others run in a Deno process, and there is no Deno here. Install it (npm install deno, or https://deno.com), or name its binary in SIGNALBOX_DENO.",
  );
}

function named(deno: string): string {
  if (existsSync(deno)) return deno;
  throw new Refusal("NO_SANDBOX", `SIGNALBOX_DENO: ${deno} does not exist; plugins of others run in a Deno process.`);
}

const runningDeno = () => ("Deno" in globalThis ? process.execPath : undefined);

/** The binary itself: the package's own command starts it through a Node process that would stand between. */
function packagedDeno(): string | undefined {
  const require = createRequire(import.meta.url);
  const libc = process.platform === "linux" ? ["-glibc", "-musl"] : [""];
  for (const suffix of libc) {
    try {
      const manifest = require.resolve(`@deno/${process.platform}-${process.arch}${suffix}/package.json`, {
        paths: [require.resolve("deno/package.json")],
      });
      const binary = join(manifest, "..", process.platform === "win32" ? "deno.exe" : "deno");
      if (existsSync(binary)) return binary;
    } catch {
      // Not installed for this platform.
    }
  }
  return undefined;
}

const installedDeno = (): string | undefined =>
  [join(homedir(), ".deno/bin"), "/usr/local/bin", "/usr/bin", "/opt/homebrew/bin"]
    .map((folder) => join(folder, "deno"))
    .find((file) => existsSync(file) && !realpathSync(file).endsWith(".cjs"));
