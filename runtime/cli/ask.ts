import type { Operation } from "@signalbox/schema/operation";
import { declaredOperations } from "../declared-operations.ts";
import { readClientConfig } from "../platform/config.ts";
import { request } from "./request.ts";

/**
 * Sends a request for an operation, given by its id, to the service at `SIGNALBOX_URL`. It is not in `request.ts`, because it
 * needs the list of all operations, and so packages of the service, which authors of plugins must not have to install with
 * `@signalbox/cli`.
 */
export async function ask<T>(id: string, input: Readonly<Record<string, unknown>>): Promise<T> {
  const op = declaredOperations().find((bound) => bound.op.id === id)?.op as Operation;
  const { SIGNALBOX_URL: url, SIGNALBOX_API_KEY: apiKey } = readClientConfig();
  return (await request(op, input, { url, apiKey }, () => {})).value as T;
}
