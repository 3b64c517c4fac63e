/**
 * Loaded into a service by `--import`. The process ends, as by kill -9, immediately before a statement is sent to its database or
 * immediately after its response has arrived, as the file that `DIE_AT` names specifies. It reads the bytes of PostgreSQL's
 * protocol, which the embedded database supports too. For tests only.
 */
import { readFileSync } from "node:fs";
import { Duplex } from "node:stream";

/** The place at which the process ends. */
export interface DeathPoint {
  readonly when: "before" | "after";
  /** Regular expression of the statement's text. */
  readonly sql: string;
  /** Text that its parameters contain, for example the id of an execution. */
  readonly about: readonly string[];
}

interface StreamState {
  /** Number of syncs sent and of responses received; the first response is to the startup message. */
  sent: number;
  received: number;
  diesAt: number | null;
  /** The end of the previous data, because a response may arrive in parts of any size. */
  tail: Buffer;
}

const file = process.env.DIE_AT ?? "";
const statements = new Map<string, string>();
const states = new WeakMap<object, StreamState>();
const messageTypes = "PBDESCQHXpFdc";
const ready = Buffer.from([0x5a, 0, 0, 0, 5]);

function point(): DeathPoint | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as DeathPoint;
  } catch {
    return null;
  }
}

const die = () => process.kill(process.pid, "SIGKILL");

function text(chunk: Buffer, at: number): { value: string; end: number } {
  const end = chunk.indexOf(0, at);
  return { value: chunk.toString("utf8", at, end < 0 ? chunk.length : end), end: end < 0 ? chunk.length : end + 1 };
}

/** Reads the messages of one write. Data that is not PostgreSQL's protocol is ignored from its first byte. */
function look(stream: object, chunk: Buffer): void {
  for (let at = 0; at + 5 <= chunk.length; ) {
    const type = String.fromCharCode(chunk[at] as number);
    const length = chunk.readInt32BE(at + 1);
    if (!messageTypes.includes(type) || length < 4 || at + 1 + length > chunk.length) return;
    const message = chunk.subarray(at + 5, at + 1 + length);
    const state = states.get(stream) ?? { sent: 0, received: -1, diesAt: null, tail: Buffer.alloc(0) };
    states.set(stream, state);
    if (type === "S" || type === "Q") state.sent++;
    if (type === "P") {
      const { value: name, end } = text(message, 0);
      statements.set(name, text(message, end).value);
    }
    if (type === "B") bound(state, statements.get(text(message, text(message, 0).end).value) ?? "", message);
    at += 1 + length;
  }
}

function bound(state: StreamState, sql: string, message: Buffer): void {
  const wanted = point();
  if (!wanted || !new RegExp(wanted.sql).test(sql) || !wanted.about.every((part) => message.includes(part))) return;
  if (wanted.when === "before") die();
  state.diesAt ??= state.sent + 1;
}

const { write, push } = Duplex.prototype;
Duplex.prototype.write = function (this: Duplex, chunk: unknown, ...rest: unknown[]) {
  if (Buffer.isBuffer(chunk)) look(this, chunk);
  return Reflect.apply(write, this, [chunk, ...rest]) as boolean;
};
Duplex.prototype.push = function (this: Duplex, chunk: unknown, ...rest: unknown[]) {
  const state = states.get(this);
  // A socket passes Buffers, the thread of the embedded database plain bytes.
  if (state && chunk instanceof Uint8Array) {
    const bytes = Buffer.concat([state.tail, chunk]);
    for (let at = bytes.indexOf(ready); at >= 0; at = bytes.indexOf(ready, at + 5)) state.received++;
    state.tail = bytes.subarray(Math.max(0, bytes.length - ready.length + 1));
    if (state.diesAt !== null && state.received >= state.diesAt) die();
  }
  return Reflect.apply(push, this, [chunk, ...rest]) as boolean;
};
