import { type ProblemCode, problem } from "@signalbox/schema/problem";
import * as useCases from "@signalbox/schema/use-cases";
import type { PluginErrorCode, PluginErrorShape, UseCase, UseCaseResult } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { deleteState, findState, saveState } from "./queries.ts";

/** The operations on use cases. Those on one use case run one after the other on this replica. */
export function useCaseOperations(loaded: ReadonlyMap<string, UseCase>): BoundOperation[] {
  const lastCalls = new Map<string, Promise<unknown>>();
  const runSerialized = <T>(name: string, run: (useCase: UseCase) => Promise<T>): Promise<T> => {
    const useCase = loaded.get(name);
    if (!useCase)
      throw problem("not_found", `There is no use case "${name}"; available: ${[...loaded.keys()].join(", ") || "none"}.`);
    const turn = (lastCalls.get(name) ?? Promise.resolve()).then(() => run(useCase));
    lastCalls.set(
      name,
      turn.catch(() => {}),
    );
    return turn.catch((error) => {
      throw asProblem(error);
    });
  };
  const callOf = async (sql: Sql, name: string, signal: AbortSignal) => ({
    signal,
    state: await findState(sql, name),
    save: (state: Parameters<typeof saveState>[2]) => saveState(sql, name, state),
  });
  return [
    handle(useCases.setup, ({ use_case, ...request }, { sql, signal }) =>
      runSerialized(use_case, async (useCase) => toOutput(await useCase.setup(request, await callOf(sql, use_case, signal)))),
    ),
    handle(useCases.teardown, ({ use_case }, { sql, signal }) =>
      runSerialized(use_case, async (useCase) => {
        const done = await useCase.teardown(await callOf(sql, use_case, signal));
        await deleteState(sql, use_case);
        return done;
      }),
    ),
  ];
}

const toOutput = ({ agents_verified, next_steps, ...result }: UseCaseResult) => ({
  ...result,
  agents_verified: [...agents_verified],
  next_steps: [...next_steps],
});

const codes: Partial<Record<PluginErrorCode, ProblemCode>> = { invalid_input: "bad_request", conflict: "wrong_state" };
const passedCodes: readonly PluginErrorCode[] = [
  "unauthorized",
  "not_found",
  "rate_limited",
  "unavailable",
  "timeout",
  "not_configured",
  // An error of a plugin's process, or an invalid response.
  "failed",
];

/** Recognised by its members, because an installed plugin has its own copy of the error class. */
function asProblem(error: unknown): unknown {
  const { code, message } = (error ?? {}) as Partial<PluginErrorShape>;
  if (!(error instanceof Error) || error.name !== "PluginError" || !code || !message) return error;
  const found = codes[code] ?? (passedCodes.includes(code) ? "bad_gateway" : undefined);
  return found ? problem(found, message, { cause: error }) : error;
}
