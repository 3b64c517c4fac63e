import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { checkOut } from "../harness/checkout.ts";
import { freshDatabase } from "../harness/databases.ts";
import { type ServiceOptions, startService } from "../harness/service.ts";

/** A program that is measured, in a separate process. */
export interface Contender {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** Address of its database, if it has a separate one. */
  readonly database: string | null;
  close(): Promise<void>;
}

/** Starts one of `limits.ts`. */
export const limit = (name: string, ...args: string[]): Promise<Contender> => program(name, "limits.ts", ...args);

/** Starts a program of this folder that prints its port. */
export async function program(name: string, file: string, ...args: string[]): Promise<Contender> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`./${file}`, import.meta.url)), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Also called if the benchmark fails.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const port = await new Promise<number>((done, fail) => {
    createInterface(child.stdout).once("line", (line) => done(Number(line)));
    child.once("exit", (code) => fail(new Error(`${[file, ...args.slice(0, 1)].join(" ")} ended with ${code}`)));
  });
  const close = () =>
    new Promise<void>((done) => {
      child.once("exit", () => done());
      process.off("exit", kill);
      kill();
    });
  return { name, port, pid: child.pid ?? 0, database: null, close };
}

/** Starts Signalbox. */
export async function signalbox(
  name: string,
  options: ServiceOptions,
): Promise<Contender & { post(path: string, body?: unknown): Promise<unknown> }> {
  const service = await startService(options);
  return {
    name,
    port: Number(new URL(service.url).port),
    pid: service.pid,
    database: service.databaseUrl,
    close: () => service.close(),
    post: (path, body) => service.post(path, body),
  };
}

/** An earlier version of Signalbox, on an empty database of its own. */
export interface OldVersion {
  readonly commit: string;
  readonly options: Pick<ServiceOptions, "sources" | "databaseUrl">;
  close(): Promise<void>;
}

/** The version in `--before=<commit>`, to measure it in turns with this one; null without that argument. */
export async function oldVersion(args: readonly string[]): Promise<OldVersion | null> {
  const commit = args.find((one) => one.startsWith("--before="))?.slice("--before=".length);
  if (!commit) return null;
  const sources = checkOut(commit);
  const database = await freshDatabase();
  const close = async () => {
    await database.drop();
    rmSync(sources, { recursive: true, force: true });
  };
  return { commit, options: { sources, databaseUrl: database.url }, close };
}
