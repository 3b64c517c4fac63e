import type { Bound } from "../platform/operation.ts";
import { keyOperations } from "./operations.ts";

/** The operations on keys for a command that has the database and no service around it. */
export const offlineKeyOperations = (): Bound[] =>
  // Running replicas look by themselves within seconds, so nobody need be told.
  keyOperations({ publish: async () => {} });
