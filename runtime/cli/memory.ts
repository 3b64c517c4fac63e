import { createReadStream } from "node:fs";
import memoryPgvector from "@signalbox/plugin-memory-pgvector";
import memoryRedis from "@signalbox/plugin-memory-redis";
import { prepareMemory } from "../memory/prepare.ts";
import { reembed } from "../memory/reembed.ts";
import { createMemoryRepository } from "../memory/repository.ts";
import { openStores } from "../memory/stand-alone.ts";
import { exportMemories, importMemories, linesOf } from "../memory/transfer.ts";
import { readConfig } from "../platform/config.ts";
import { migrate } from "../platform/database/migrate.ts";
import { type LocalOptions, onDatabase } from "./local.ts";
import { RequestError } from "./request.ts";

const builtIns = [memoryPgvector, memoryRedis];
const inUse = "Stop that service first.";
const createFirst = "To import into a new database there, run signalbox migrate --create first.";
type Write = (text: string) => void;

/** `signalbox reembed`: computes all stored vectors again with the configured model. */
export const runReembed = async (interactive: boolean, out: Write, err: Write): Promise<void> => {
  return onDatabase({ write: err, inUse, ifMissing: { remedy: "" } }, async (database, log) => {
    await migrate(database, log);
    const options = { config: readConfig(), database, builtIns, log, signal: new AbortController().signal };
    let progress = "";
    try {
      const result = await reembed(options, ({ done, total }) => {
        progress = interactive ? bar(done, total) : `${done} of ${total}\n`;
        err(progress);
      });
      if (interactive) err("\n");
      out(`${result.done} of ${result.total} texts embedded.\n`);
    } catch (error) {
      if (interactive && progress !== "") err("\n");
      throw withRemedy(error, " Finished embeddings are kept. Run `signalbox reembed` again to resume.");
    }
  });
};

/** An unavailable model or store is not an error of the program, so no stack trace is printed. */
const withRemedy = (error: unknown, way = ""): unknown =>
  error instanceof Error && ["Failure", "PluginError"].includes(error.name) ? new RequestError(`${error.message}${way}`) : error;

const width = 30;
function bar(done: number, total: number): string {
  const share = total === 0 ? 1 : done / total;
  const filledWidth = Math.round(share * width);
  return `\r[${"#".repeat(filledWidth)}${" ".repeat(width - filledWidth)}] ${done} of ${total}`;
}

/** `signalbox memory export`: every memory as a line of JSON. */
export const runExport = async (out: Write, err: Write): Promise<void> => {
  return withStores({ write: err, inUse, ifMissing: { remedy: "" } }, async ({ sql, stores }) => {
    for await (const line of exportMemories({ sql, stores })) out(`${line}\n`);
  });
};

/** `signalbox memory import <file>`: reads the output of `export`. Returns whether all lines were valid. */
export const runImport = (file: string, out: Write, err: Write): Promise<boolean> =>
  withStores({ write: err, inUse, ifMissing: { remedy: createFirst } }, async ({ repository }) => {
    const { created, skipped, failed } = await importMemories(
      repository,
      linesOf(file === "-" ? process.stdin : createReadStream(file)),
    );
    for (const { line, error } of failed) err(`line ${line}: ${error}\n`);
    out(`${created} created, ${skipped} skipped because their keys exist, ${failed.length} refused.\n`);
    return failed.length === 0;
  });

type MemoryStores = Parameters<typeof exportMemories>[0] & { readonly repository: ReturnType<typeof createMemoryRepository> };

const withStores = <T>(options: LocalOptions, work: (stored: MemoryStores) => Promise<T>): Promise<T> =>
  onDatabase(options, async (database, log) => {
    await migrate(database, log);
    const config = readConfig();
    const resources = await prepareMemory(config, database, { ...log, info: () => {} });
    try {
      const stores = await openStores(resources, builtIns, config, log);
      const { sql } = database;
      const repository = createMemoryRepository({
        sql,
        stores,
        log,
        ...resources,
        shortTtlSeconds: config.REDIS_MEMORY_TTL,
        onStored: () => {},
      });
      return await work({ sql, stores, repository });
    } catch (error) {
      throw withRemedy(error);
    } finally {
      await resources.redis?.close();
    }
  });
