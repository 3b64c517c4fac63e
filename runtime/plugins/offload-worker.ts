import { parentPort } from "node:worker_threads";
import type { Plugin } from "@signalbox/sdk";
import type { WorkerReply, WorkerRequest } from "../platform/worker-pool.ts";
import { builtIns } from "./built-ins.ts";

// The program of the worker threads that run plugins' offloaded functions. A module is the id of a built-in plugin, or the
// URL of a trusted one.

/** Maximum length of a result, in characters of text or JSON, so that the host can read it quickly. */
const maxResultLength = 4_000_000;
const modules = new Map<string, Promise<NonNullable<Plugin["offloaded"]>>>();

function load(module: string): Promise<NonNullable<Plugin["offloaded"]>> {
  const known = modules.get(module);
  if (known) return known;
  const moduleImport: Promise<{ default: unknown }> = Object.hasOwn(builtIns, module)
    ? builtIns[module as keyof typeof builtIns]()
    : import(module);
  const functions = moduleImport.then((found) => (found.default as Plugin).offloaded ?? {});
  modules.set(module, functions);
  return functions;
}

async function answer(request: WorkerRequest): Promise<WorkerReply> {
  if ("load" in request) {
    try {
      await load(request.load);
      return { loaded: request.load };
    } catch (error) {
      return { loaded: request.load, error: `${request.load} could not be loaded: ${messageOf(error)}` };
    }
  }
  try {
    const functions = await load(request.module);
    const run = functions[request.run] as (...input: unknown[]) => unknown;
    const { input } = request;
    const result = await run(...("texts" in input ? input.texts : (JSON.parse(input.json) as unknown[])));
    const text = typeof result === "string" ? result : JSON.stringify(result ?? null);
    if (text.length > maxResultLength) return { error: `${request.run}: the result has ${text.length} characters` };
    return { result: typeof result === "string" ? { texts: [text] } : { json: text } };
  } catch (error) {
    return { error: `${request.run}: ${messageOf(error)}` };
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 500);

parentPort?.on("message", (request: WorkerRequest) => void answer(request).then((reply) => parentPort?.postMessage(reply)));
