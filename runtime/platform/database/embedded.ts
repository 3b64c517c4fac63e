import { accessSync, chmodSync, constants, existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { StartError } from "../config.ts";
import { messageOf } from "../error-text.ts";
import { makeFolder } from "../make-folder.ts";
import { DatabaseThread } from "./embedded-thread.ts";
import { claimFolder, isOfClaim } from "./folder-claim.ts";

/**
 * PostgreSQL in a thread of this process, with its data in a folder. It runs without fsync: committed data survives a kill -9 of
 * the process, but not a power failure. It runs in a thread, because storing a webhook of 25 MiB takes it half a second.
 */
export interface Embedded {
  /** Opens a stream that speaks the PostgreSQL protocol. Only one can be open, because there is one session. */
  connect(): Duplex;
  close(): Promise<void>;
}

export async function openEmbedded(folder: string): Promise<Embedded> {
  prepare(folder);
  const release = await claimFolder(folder);
  const dataDir = join(folder, "pg");
  const settings = { dataDir, cacheMegabytes: cacheMegabytes(join(dataDir, "base")) };
  const database = await DatabaseThread.open(settings, endProcess).catch(async (error) => {
    await release();
    throw isFull(folder) ? new StartError(fullText(folder), { cause: error }) : error;
  });
  return {
    connect: () => new Wire(database),
    close: async () => {
      await database.close();
      await release();
    },
  };
}

/** Whether a folder contains an embedded database. */
export const hasDatabase = (folder: string): boolean => existsSync(join(folder, "pg", "PG_VERSION"));

/** Whether a folder exists and contains nothing, like a new volume. A process that died before it created a database leaves a socket. */
export function isEmptyFolder(folder: string): boolean {
  try {
    return readdirSync(folder).every(isOfClaim);
  } catch {
    return false;
  }
}

/** PostgreSQL needs two files of 16 MB to recover from a crash. On a full disk it aborts at the start without a reason. */
function isFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < 32 * 2 ** 20;
  } catch {
    // The error of the start says what is wrong.
    return false;
  }
}

const fullText = (folder: string): string =>
  `DATA_DIR: the embedded database cannot start, because the disk of ${folder} is full. Free at least 100 MB and start again; committed data is not lost.`;

/** Called if the database exits unexpectedly: the process cannot work without it. */
const endProcess = (error: Error): never => {
  throw error;
};

/** Creates the folder if it does not exist, and checks that it is writable. */
function prepare(folder: string): void {
  try {
    // Only this user may access it, including files created later.
    process.umask(0o077);
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
    if (!isPrivate(folder)) makePrivate(folder);
  } catch (error) {
    throw new StartError(`DATA_DIR: the folder cannot be used: ${messageOf(error)}`);
  }
}

/** Whether other users have no permissions on a folder and its files. Of the thousand files, only one is checked. */
function isPrivate(folder: string): boolean {
  const sample = join(folder, "pg", "PG_VERSION");
  const modes = [folder, ...(existsSync(sample) ? [sample] : [])].map((path) => statSync(path).mode & 0o077);
  return process.platform === "win32" || modes.every((others) => others === 0);
}

/** Removes all permissions of other users from a folder and its content, which may be a copy, or be from an earlier version. */
function makePrivate(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) makePrivate(path);
    else if (entry.isFile()) chmodSync(path, 0o600);
  }
  chmodSync(folder, 0o700);
}

/**
 * The size of PostgreSQL's cache: that of the database at the start, from 32 to 128 MB. PostgreSQL fills the cache with zeros at
 * each start, and the system caches the rest of the database.
 */
function cacheMegabytes(base: string): number {
  const size = existsSync(base) ? sizeOf(base) / 2 ** 20 : 0;
  return Math.round(Math.min(128, Math.max(32, size)));
}

const sizeOf = (folder: string): number =>
  readdirSync(folder, { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? sizeOf(join(folder, entry.name)) : statSync(join(folder, entry.name)).size))
    .reduce((sum, size) => sum + size, 0);

/** The message by which a client ends its session. */
const terminate = "X".charCodeAt(0);

/** Turns a byte stream of protocol messages into calls of the database. The first message has no type byte. */
class Wire extends Duplex {
  readonly #database: DatabaseThread;
  #pending: Buffer = Buffer.alloc(0);
  #started = false;

  constructor(database: DatabaseThread) {
    super();
    this.#database = database;
  }

  /** Behaves like a socket: postgres.js ends an open one and waits until it is closed. */
  get readyState(): "open" | "closed" {
    return this.destroyed ? "closed" : "open";
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const messages = this.#takeWhole();
    if (messages.length === 0) {
      done();
      return;
    }
    this.#database.send(messages, (data) => void this.push(data)).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.push(null);
    done();
  }

  /**
   * All complete messages that have arrived, as one block. The message that ends a session is omitted, because there is only one
   * session.
   */
  #takeWhole(): Buffer {
    let end = 0;
    while (true) {
      const typeBytes = this.#started ? 1 : 0;
      if (this.#pending.length < end + typeBytes + 4) break;
      if (this.#started && this.#pending[end] === terminate) break;
      const length = typeBytes + this.#pending.readInt32BE(end + typeBytes);
      if (this.#pending.length < end + length) break;
      end += length;
      this.#started = true;
    }
    const whole = this.#pending.subarray(0, end);
    this.#pending = this.#pending.subarray(end);
    return whole;
  }
}
