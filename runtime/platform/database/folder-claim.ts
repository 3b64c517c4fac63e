import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../config.ts";
import { sha256Of } from "../digest.ts";
import { messageOf } from "../error-text.ts";

export class FolderInUse extends StartError {}

/** Name of the socket in a folder on which the process that uses the folder listens. */
const socketName = "signalbox.sock";

/** Whether an entry of a folder belongs to a claim of it, not to its content. */
export const isOfClaim = (entry: string): boolean => entry.startsWith(socketName);

/**
 * Ensures that only one process uses the folder, because two would destroy it. The process listens on a Unix socket in the folder,
 * so the claim depends on nothing but the folder: not on the environment of a process, and not on its container. Only one process
 * can listen at a path. The kernel releases the socket however the process ends, whereas a pid file could be outdated.
 *
 * `listen` is a parameter for tests of file systems without sockets.
 */
export async function claimFolder(folder: string, listen: typeof listenAt = listenAt): Promise<() => Promise<void>> {
  const real = realpathSync(folder);
  const inUse = `DATA_DIR: ${real} is in use by another Signalbox process. Stop it, or give this one its own DATA_DIR.`;
  const elsewhere = `signalbox-${sha256Of(real).slice(0, 24)}`;
  try {
    if (process.platform === "win32") return closing(await claimAt(`\\\\.\\pipe\\${elsewhere}`, inUse, listen));
    const release = await claimInside(real, inUse, listen);
    // Not the folder of TMPDIR, because that can differ for another process.
    return release ?? closing(await claimAt(join("/tmp", `${elsewhere}.sock`), inUse, listen));
  } catch (error) {
    if (error instanceof FolderInUse) throw error;
    throw new StartError(`DATA_DIR: the folder cannot be used: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** The path of a Unix socket has at most 104 bytes on macOS and 108 on Linux, with a zero byte. */
const maxPathBytes = 100;

/**
 * Claims a folder by a socket in it. Returns null if its file system has no sockets, which is the same for all processes. If the
 * path is too long for a socket, a temporary link shortens it. The link is removed at once: other processes create their own.
 */
async function claimInside(folder: string, inUse: string, listen: typeof listenAt): Promise<(() => Promise<void>) | null> {
  const path = join(folder, socketName);
  const links = Buffer.byteLength(path) > maxPathBytes ? mkdtempSync(join(shortTemporary(), "signalbox-")) : null;
  try {
    if (links === null) return closing(await claimAt(path, inUse, listen));
    symlinkSync(folder, join(links, "data"));
    const close = closing(await claimAt(join(links, "data", socketName), inUse, listen));
    return () => {
      // Closing removes the file at the path of the link, which no longer exists.
      rmSync(path, { force: true });
      return close();
    };
  } catch (error) {
    if (error instanceof CannotListen && withoutSockets.has(codeOf(error.cause))) return null;
    throw error;
  } finally {
    if (links) rmSync(links, { recursive: true, force: true });
  }
}

const shortTemporary = (): string => (Buffer.byteLength(tmpdir()) <= maxPathBytes / 2 ? tmpdir() : "/tmp");

/** The folder is writable, so these are the errors of file systems without sockets; Deno has EACCES for EPERM. */
const withoutSockets = new Set(["EPERM", "EACCES", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL"]);

class CannotListen extends Error {}

/** Closing the server removes the socket. */
const closing = (server: Server) => (): Promise<void> => new Promise((done) => server.close(() => done()));

/** Listens at a path, where the socket of a dead process may be. */
async function claimAt(path: string, inUse: string, listen: typeof listenAt): Promise<Server> {
  // Windows refuses a pipe of another user.
  const takenCodes = process.platform === "win32" ? ["EADDRINUSE", "EACCES"] : ["EADDRINUSE"];
  for (;;) {
    try {
      const server = await listen(path);
      return server.unref();
    } catch (error) {
      if (!takenCodes.includes(codeOf(error)))
        throw new CannotListen(error instanceof Error ? error.message : "", { cause: error });
    }
    if ((await stateOf(path)) === "in use") throw new FolderInUse(inUse);
    await removeLeftovers(path);
  }
}

export const listenAt = (path: string): Promise<Server> =>
  new Promise((done, fail) => {
    const server = createServer((socket) => socket.end());
    server.once("error", fail).listen(path, () => done(server));
  });

/** If the folder of a clean-up is older than this, its process is dead; milliseconds. */
const maxClearingMs = 5_000;

/**
 * Removes the socket of a dead process. Only one process at a time does this; otherwise a slower one could remove the socket of a
 * new listener.
 */
async function removeLeftovers(path: string): Promise<void> {
  const turn = `${path}.clearing`;
  try {
    mkdirSync(turn);
  } catch {
    const age = Date.now() - (statSync(turn, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY);
    if (age > maxClearingMs) rmSync(turn, { recursive: true, force: true });
    return sleep(20);
  }
  try {
    if ((await stateOf(path)) === "left") rmSync(path, { force: true });
  } finally {
    rmSync(turn, { recursive: true, force: true });
  }
}

/** `in use`: a process listens. `left`: a dead process left its socket file, which prevents others from listening. */
const stateOf = (path: string): Promise<"in use" | "left" | "free"> =>
  new Promise((done) => {
    const states = { ECONNREFUSED: "left", ENOENT: "free" } as const;
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      done("in use");
    });
    socket.once("error", (error) => done(states[codeOf(error) as keyof typeof states] ?? "in use"));
  });

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code);
