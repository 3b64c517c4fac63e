/**
 * The child process that evaluates expressions of users: jq compiled to WebAssembly (at most 256 MiB, no files, no environment)
 * and JSONPath. It is a process, because Deno cannot end a thread that loops inside WebAssembly.
 */
import { Worker } from "node:worker_threads";
import { type Jq, loadJq } from "jq-wasm";
import { JSONPathEnvironment } from "json-p3";
import type { Answer, Question } from "./evaluator.ts";

/**
 * After this number of calls, or after a large payload, a new instance is created, because the memory of an instance grows and
 * never shrinks.
 */
const maxCalls = 2000;
const largeBytes = 4_000_000;
/** Maximum length of an extracted text, in characters. */
const maxText = 200_000;

const paths = new JSONPathEnvironment();
let jq: Promise<Jq> | null = null;
let calls = 0;

async function filter(body: Uint8Array, program: string): Promise<Answer> {
  jq ??= loadJq();
  const instance = await jq;
  if (++calls > maxCalls || body.byteLength > largeBytes) {
    jq = null;
    calls = 0;
  }
  try {
    // The newline ends a comment at the end of the filter.
    const wrappedProgram = `first(${program}\n) | if . then true else false end`;
    const { stdout, stderr, exitCode } = instance.raw(new TextDecoder().decode(body), wrappedProgram, ["-c"]);
    if (exitCode !== 0) return { error: tidy(stderr) || `jq ended with ${exitCode}` };
    return { matched: stdout.trim() === "true" };
  } catch {
    jq = null;
    return { error: "it needs more memory than a filter may take (256 MiB)" };
  }
}

/** Compiles a filter without running it. */
async function compile(program: string): Promise<Answer> {
  jq ??= loadJq();
  const { stderr, exitCode } = (await jq).raw("null", `empty | ${program}`, ["-c"]);
  return exitCode === 0 ? { matched: true } : { error: tidy(stderr) || "jq rejected it" };
}

/** The first line of jq's message, without the parts that the wrapper adds. */
const tidy = (stderr: string): string =>
  (stderr.trim().split("\n")[0] ?? "")
    .replace(/^jq: error(?: \(at [^)]*\))?:? ?/, "")
    .replace(/ at <top-level>.*$/, "")
    .slice(0, 300);

function extract(body: Uint8Array, rules: Readonly<Record<string, string>>): Answer {
  const payload = JSON.parse(new TextDecoder().decode(body));
  const found: Record<string, string> = {};
  for (const [name, rule] of Object.entries(rules)) {
    try {
      const value = paths.query(rule, payload).values()[0];
      const text = asText(value, name === "text");
      if (text !== null) found[name] = text.slice(0, maxText);
    } catch (error) {
      return { error: `${name}: ${error instanceof Error ? error.message : error}` };
    }
  }
  return { found };
}

function asText(value: unknown, anything: boolean): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return anything && value !== undefined && value !== null ? JSON.stringify(value, null, 2) : null;
}

const answer = ({ kind, body, program, rules }: Question): Answer | Promise<Answer> =>
  kind === "paths" ? extract(body, rules) : kind === "compile" ? compile(program) : filter(body, program);

const send = (message: unknown) => process.send?.(message);

process.on("message", (message) => {
  Promise.resolve(message as Question)
    .then(answer)
    .catch((error): Answer => ({ error: error instanceof Error ? error.message : String(error) }))
    .then(send)
    // The service has ended.
    .catch(() => process.exit(1));
});
process.on("disconnect", () => process.exit(0));

// While WebAssembly loops, this thread does not notice that the service was killed, so another thread checks its parent.
new Worker(
  `const parent = process.ppid; setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, "SIGKILL"); }, 1000)`,
  { eval: true },
).unref();

jq = loadJq();
jq.then(
  () => send("ready"),
  (error) => {
    console.error(`jq could not be loaded: ${error}`);
    process.exit(1);
  },
);
