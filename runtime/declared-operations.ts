import { bindAll, type Parts } from "./operations.ts";
import type { BoundOperation } from "./platform/operation.ts";

/** Every operation, for its declaration only: the handlers have no dependencies here and must not run. */
export const declaredOperations = (): BoundOperation[] =>
  bindAll(new Proxy({}, { get: () => new Proxy({}, { get: () => () => {} }) }) as unknown as Parts);
