import { bindAll, type Parts } from "./operations.ts";
import type { Bound } from "./platform/operation.ts";

/** Every operation, for its declaration only: none of what handlers need is there, so no handler may be run. */
export const declared = (): Bound[] =>
  bindAll(new Proxy({}, { get: () => new Proxy({}, { get: () => () => {} }) }) as unknown as Parts);
