import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Refusal } from "../admit.ts";

/** The command of a sandboxed process. Its environment is only `environment`, not that of the host. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

export const environment: Readonly<Record<string, string>> = {
  // Unwritable: no cache, no Cache API and no localStorage, so the plugin cannot fill the disk.
  DENO_DIR: "/dev/null/none",
  NO_COLOR: "1",
  DENO_NO_UPDATE_CHECK: "1",
  // Deno has no permission for GPUs, on which a plugin could run code outside the limits of its process.
  DENO_WEBGPU_BACKEND: "none",
};

interface LaunchOptions {
  /** Path of the Deno binary, if the operator names one. */
  readonly deno?: string | undefined;
  /** The only file that the process may read. */
  readonly bundle: string;
  readonly memoryMb: number;
  readonly isolation: Isolation;
}

/** The isolation layers of the operating system for a process, in addition to Deno's own permissions. Linux only. */
export interface Isolation {
  /** Path of `prlimit`: limits on memory, files and descriptors. */
  readonly prlimit: string | null;
  /** Path of `setpriv`: no new privileges, and the process ends with the host. */
  readonly setpriv: string | null;
  /** Each process runs as a separate user. Needs `setpriv`, and a service that runs as root. */
  readonly ownUser: boolean;
  /** Path of `bwrap` (bubblewrap): separate namespaces for network, mounts, processes and users. */
  readonly bwrap: string | null;
  /** Path of the seccomp filter, which `bwrap` installs. */
  readonly seccomp: string | null;
}

export const noIsolation: Isolation = { prlimit: null, setpriv: null, ownUser: false, bwrap: null, seccomp: null };

/** The command line of a sandboxed process. Throws a `Refusal` if there is no Deno. */
export function launchOf({ deno, bundle, memoryMb, isolation }: LaunchOptions): Launch {
  const file = realpathSync(bundle);
  const binary = deno === undefined ? findDeno() : requireBinary(deno);
  const boot = bootFile();
  const line = [
    // The filter is file descriptor 3 of every program in the line.
    ...(isolation.seccomp ? ["/bin/sh", "-c", 'exec "$@" 3<"$0"', isolation.seccomp] : []),
    ...privileges(isolation),
    ...(isolation.prlimit
      ? [isolation.prlimit, `--data=${(704 + memoryMb) * 1024 * 1024}`, "--core=0", "--nofile=128", "--fsize=0"]
      : []),
    ...namespaces(isolation, [realpathSync(binary), boot.endsWith(".ts") ? join(boot, "../..") : boot, file]),
    isolation.bwrap ? realpathSync(binary) : binary,
    "run",
    "--no-prompt",
    "--no-remote",
    "--no-npm",
    "--no-lock",
    "--no-config",
    "--cached-only",
    "--deny-import",
    `--v8-flags=--max-old-space-size=${memoryMb}`,
    `--allow-read=${file}`,
    boot,
    pathToFileURL(file).href,
  ];
  const [command, ...args] = line as [string, ...string[]];
  return { command, args };
}

function privileges({ setpriv, ownUser }: Isolation): string[] {
  if (!setpriv) return [];
  const uid = ownUser ? nextUid() : null;
  const user = uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  // The process must end when the host is killed, even if it is busy.
  return [setpriv, "--pdeathsig", "KILL", "--no-new-privs", ...user];
}

/** Users 59000 to 59999, which no system assigns. The first one differs between services of one machine. */
let lastUid = process.pid % 1_000;
function nextUid(): number {
  lastUid = (lastUid + 1) % 1_000;
  return 59_000 + lastUid;
}

/** Libraries that Deno needs to start. */
const libraries = ["/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache"];

/** A read-only file system that contains only the libraries and `readable`; no network, no other processes. */
function namespaces({ bwrap, seccomp }: Isolation, readable: readonly string[]): string[] {
  if (!bwrap) return [];
  return [
    bwrap,
    "--unshare-user",
    "--unshare-net",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    ...libraries.flatMap((path) => ["--ro-bind-try", path, path]),
    ...readable.flatMap((path) => ["--ro-bind", path, path]),
    "--remount-ro",
    "/",
    "--chdir",
    "/",
    ...(seccomp ? ["--seccomp", "3"] : []),
    "--",
  ];
}

/** The boot file next to this one: TypeScript in a checkout, one JavaScript file in the package. */
function bootFile(): string {
  const built = fileURLToPath(new URL("./boot.js", import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL("./boot/main.ts", import.meta.url));
}

let known: string | undefined;

/** The Deno that runs this service, or that of the npm package `deno`, or one where its installers put it. */
function findDeno(): string {
  known ??= runningDeno() ?? packagedDeno() ?? installedDeno();
  if (known) return known;
  throw new Refusal(
    "NO_SANDBOX",
    "Third-party plugins run in a Deno process, and Deno was not found. Install it (npm install deno, or https://deno.com), or set SIGNALBOX_DENO to its path.",
  );
}

function requireBinary(deno: string): string {
  if (existsSync(deno)) return deno;
  throw new Refusal("NO_SANDBOX", `SIGNALBOX_DENO: ${deno} does not exist. Set it to the path of a Deno binary.`);
}

const runningDeno = () => ("Deno" in globalThis ? process.execPath : undefined);

/** The binary itself, because the package's command would start it through another Node process. */
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
      // The package is not installed for this platform.
    }
  }
  return undefined;
}

const installedDeno = (): string | undefined =>
  [join(homedir(), ".deno/bin"), "/usr/local/bin", "/usr/bin", "/opt/homebrew/bin"]
    .map((folder) => join(folder, "deno"))
    .find((file) => existsSync(file) && !realpathSync(file).endsWith(".cjs"));
