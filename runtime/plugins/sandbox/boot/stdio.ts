/** The part of Deno that the boot uses. */
interface Runtime {
  readonly args: readonly string[];
  readonly stdin: { readonly readable: ReadableStream<Uint8Array> };
  readonly stdout: { writeSync(bytes: Uint8Array): number };
  readonly stderr: { writeSync(bytes: Uint8Array): number };
  readFileSync(file: URL): Uint8Array;
  exit(code: number): never;
}
declare const Deno: Runtime;

const { stdin, stdout, stderr } = Deno;
const write = stdout.writeSync.bind(stdout);
const writeError = stderr.writeSync.bind(stderr);
const { parse, stringify } = JSON;
const encoder = new TextEncoder();

export const args: readonly string[] = Deno.args;
export const exit: (code: number) => never = Deno.exit.bind(Deno);

/** Whether the one permitted file can be read. */
export function isReadable(): boolean {
  try {
    return Deno.readFileSync(new URL(args[0] as string)).byteLength > 0;
  } catch {
    return false;
  }
}

function writeAll(to: (bytes: Uint8Array) => number, bytes: Uint8Array): void {
  for (let rest = bytes; rest.byteLength > 0; ) rest = rest.subarray(to(rest));
}

/** Writes one message as one line. */
export const lineOf = (message: unknown): Uint8Array => encoder.encode(`${stringify(message)}\n`);
/** Standard output carries the protocol, so the plugin's output is written elsewhere. */
export const sendLine = (line: Uint8Array): void => writeAll(write, line);
export const send = (message: unknown): void => sendLine(lineOf(message));

/** Text that a plugin prints is written to standard error, of which the host keeps the end. */
export function takeConsole(): void {
  const print = (...parts: unknown[]) => {
    const line = parts.map((part) => (typeof part === "string" ? part : show(part))).join(" ");
    writeAll(writeError, encoder.encode(`${line}\n`));
  };
  for (const name of ["log", "info", "warn", "error", "debug", "trace"] as const) console[name] = print;
}

function show(value: unknown): string {
  if (value instanceof Error) return value.stack ?? value.message;
  try {
    return stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** The host's messages, until it closes standard input. */
export async function* messages(): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  for await (const chunk of stdin.readable) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      rest.push(text.slice(from, end));
      yield parse(rest.join(""));
      rest = [];
      from = end + 1;
    }
    if (from < text.length) rest.push(text.slice(from));
  }
}
