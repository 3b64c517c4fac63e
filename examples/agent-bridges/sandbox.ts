import { spawn } from "node:child_process";

interface SandboxedRun {
  /** A shell command. It reads the prompt from standard input and changes the files in its working folder. */
  readonly command: string;
  readonly prompt: string;
  /** The only folder that it can write to, besides a temporary one. */
  readonly files: string;
  readonly timeoutMs: number;
  /** Names of variables of this process that it receives. */
  readonly passed: readonly string[];
}

/** Maximum length of the summary, which is the end of the command's output, in characters. */
const maxSummaryLength = 20_000;

/**
 * Programs, libraries and certificates. Only the parts of `/etc` that they need, because the rest contains secrets of this
 * machine.
 */
const system = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib64",
  "/opt",
  ...["ssl", "ca-certificates", "alternatives", "resolv.conf", "hosts", "nsswitch.conf", "passwd", "group", "localtime"].map(
    (name) => `/etc/${name}`,
  ),
];

/**
 * The command line of bubblewrap: the system read-only, `files` as the only writable folder, no other processes, no home. The
 * network is available, because a coding agent calls its model.
 */
const sandboxLine = ({ command, files }: Pick<SandboxedRun, "command" | "files">): string[] => [
  "bwrap",
  "--unshare-all",
  "--share-net",
  "--die-with-parent",
  "--new-session",
  "--dev",
  "/dev",
  "--proc",
  "/proc",
  ...system.flatMap((path) => ["--ro-bind-try", path, path]),
  "--tmpfs",
  "/tmp",
  "--tmpfs",
  "/home",
  "--dir",
  "/home/agent",
  "--setenv",
  "HOME",
  "/home/agent",
  "--bind",
  files,
  "/work",
  "--chdir",
  "/work",
  "--",
  "/bin/sh",
  "-c",
  command,
];

/** Runs a command in the sandbox. Throws if it fails or exceeds its time. */
export function runSandboxed(run: SandboxedRun): Promise<{ summary: string }> {
  const { prompt, timeoutMs, passed } = run;
  const [program = "", ...args] = sandboxLine(run);
  const env = Object.fromEntries(["PATH", ...passed].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  return new Promise((done, fail) => {
    const child = spawn(program, args, { env, stdio: ["pipe", "pipe", "pipe"] });
    let summary = "";
    let errors = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    child.stdout.on("data", (part) => (summary = (summary + part).slice(-maxSummaryLength)));
    child.stderr.on("data", (part) => (errors = (errors + part).slice(-2_000)));
    // The command may end without reading its prompt.
    child.stdin.on("error", () => {});
    child.stdin.end(prompt);
    child.on("error", (error) => fail(new Error(`bubblewrap could not be started; install it (${error.message})`)));
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code === 0) return done({ summary: summary.trim() });
      const why = signal === "SIGKILL" ? `it was killed (time limit: ${timeoutMs / 1000} s)` : `exit code ${code}`;
      fail(new Error(`the coding agent failed: ${why}${errors ? `: ${errors.trim()}` : ""}`));
    });
  });
}
