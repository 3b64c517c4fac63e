import { ChangeRecorder } from "../audit/change-recorder.ts";
import { recordChanges } from "../audit/record-changes.ts";
import { pseudonymOf } from "../platform/fingerprints.ts";
import { newId } from "../platform/ids.ts";
import type { BoundOperation } from "../platform/operation.ts";
import { keyOperations } from "./operations.ts";

/** The operations on keys for a command that works on the database without a running service. */
export const offlineKeyOperations = (failed: (error: unknown) => void): BoundOperation[] =>
  // Running replicas read the keys again within seconds, so no notice is needed.
  recordChanges(keyOperations({ publish: async () => {} }), {
    pseudonymOf: (name) => pseudonymOf(name, undefined),
    // If an entry cannot be appended, a running service appends that the result is unknown.
    recorder: new ChangeRecorder({ replica: newId(), onError: failed }),
  });
