import { type ChildProcess, spawn } from "node:child_process";
import { join, resolve } from "node:path";

export type Runtime = "node" | "deno";

export const root = join(import.meta.dirname, "../..");

/** The runtime in `TEST_RUNTIME`. Default: Node. */
export function runtimeUnderTest(): Runtime {
  const named = process.env.TEST_RUNTIME || "node";
  if (named !== "node" && named !== "deno") throw new Error(`TEST_RUNTIME must be node or deno; it is "${named}"`);
  return named;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program under test, with its output. */
export interface Running {
  readonly pid: number;
  /** Set once it has ended. */
  readonly exit: Exit | null;
  readonly ended: Promise<Exit>;
  /** Standard output and standard error, in the order of arrival. */
  logs(): string;
  signal(name: NodeJS.Signals): void;
}

/** The service and the command line as programs for Node, built before the tests by `test/runner/bundle-service.ts`. */
export const bundledService = join(root, "node_modules/.cache/signalbox/service");

/** Makes a start cheaper, because no test runs a service for long: the space for young objects needs no garbage collection. */
const quickStart = ["--min-semi-space-size=32"];

/** Later versions of V8 always validate a function only when it is called, and refuse the flag. */
const knowsLazyValidation = Number.parseInt(process.versions.v8, 10) < 14;
/**
 * The embedded database is compiled quickly instead of optimally, and each function is validated only when it is called. Only for
 * services with that database: with such a flag, Node compiles its own modules again instead of using their cached code.
 */
export const quickEmbedded = ["--liftoff-only", ...(knowsLazyValidation ? ["--wasm-lazy-validation"] : [])];

const bundles: Readonly<Record<string, string>> = { "runtime/main.ts": "main.js", "runtime/cli/main.ts": "signalbox.js" };

/** Commands that open the database themselves; the others call the service. */
const localCommands = ["keys", "memory", "migrate", "reembed"];

/**
 * Starts a TypeScript program of this repository, or at an absolute path, with only PATH, HOME and TMPDIR from this process's
 * environment. In tests of Node, the service and the command line are their bundles.
 */
export function run(
  runtime: Runtime,
  file: string,
  options: { args?: readonly string[]; env: Record<string, string>; cwd: string },
): Running {
  const isBundled = process.env.VITEST && runtime === "node" && runtimeUnderTest() === "node";
  const bundle = isBundled ? bundles[file] : undefined;
  const isEmbedded = !options.env.DATABASE_URL && (bundle === "main.js" || localCommands.includes(options.args?.[0] ?? ""));
  const quick = isEmbedded ? [...quickStart, ...quickEmbedded] : quickStart;
  const flags = runtime === "deno" ? ["run", "-A", "--quiet"] : bundle ? quick : [];
  const program = bundle ? join(bundledService, bundle) : resolve(root, file);
  const args = [...flags, program, ...(options.args ?? [])];
  return runProgram(join(root, "node_modules/.bin", runtime), args, options);
}

/** A cache of compiled code, so that Node does not compile it at every start. */
export const compileCache = join(root, "node_modules/.cache/signalbox/compiled");

/**
 * Starts any program with the same small environment. `group`: signals are sent to all of its descendants too, as by a terminal.
 */
export function runProgram(
  command: string,
  args: readonly string[],
  options: { env: Record<string, string>; cwd?: string; group?: boolean },
): Running {
  const own = Object.fromEntries(
    ["PATH", "HOME", "TMPDIR"].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  );
  const child = spawn(command, args, {
    ...(options.cwd && { cwd: options.cwd }),
    env: { ...own, NODE_COMPILE_CACHE: compileCache, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: options.group ?? false,
  });
  return watch(child, options.group ?? false);
}

/** A test run that is stopped must not leave programs behind. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

function watch(child: ChildProcess, group: boolean): Running {
  const written: string[] = [];
  let exit: Exit | null = null;
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text: string) => written.push(text));
  running.add(child);
  const ended = new Promise<Exit>((done) => {
    const end = (code: number | null, signal: NodeJS.Signals | null) => {
      running.delete(child);
      exit = { code, signal };
      done(exit);
    };
    child.once("error", (error) => {
      written.push(`${error.message}\n`);
      end(null, null);
    });
    child.once("close", end);
  });
  return {
    pid: child.pid ?? 0,
    get exit() {
      return exit;
    },
    ended,
    logs: () => written.join(""),
    signal: (name) => void (group && child.pid ? process.kill(-child.pid, name) : child.kill(name)),
  };
}
