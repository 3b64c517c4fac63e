import { isDiskFull } from "./unavailable.ts";

/** The database could not store data: its disk is full, or it is read-only. */
export interface StorageFailure {
  readonly at: number;
  readonly reason: string;
  /** Its disk is full. */
  readonly isDisk: boolean;
}

/** Time after a failure for which a success does not count, in milliseconds: a small text may still fit on a disk that is nearly full. */
const quietMs = 4_000;

/** Remembers the last of these failures until data was stored after it and no other failure has followed for a few seconds. */
export function watchFull() {
  let last: StorageFailure | null = null;
  let storedSince = false;
  const full = (error: Error) => {
    last = { at: performance.now(), reason: error.message, isDisk: isDiskFull(error) };
    storedSince = false;
  };
  const lastFull = () => (last && storedSince && performance.now() - last.at > quietMs ? null : last);
  const stored = () => {
    storedSince = true;
  };
  return { full, lastFull, stored };
}
