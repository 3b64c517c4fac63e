/** A difference below this, in milliseconds, is not corrected: it may be only the time that the statement took. */
const minMs = 1_000;
/** After a statement that took longer, in milliseconds, the difference is not known well enough. */
const maxStatementMs = 1_000;

/** How far the database's clock is ahead of this machine's, in milliseconds. */
let aheadMs = 0;

/**
 * The time by the database's clock, in milliseconds since 1970, for what is stored or compared with what is stored: other replicas, whose
 * clocks may differ, read it too.
 */
export const databaseTime = (): number => Date.now() + aheadMs;

/** The same in ISO 8601. */
export const databaseInstant = (): string => new Date(databaseTime()).toISOString();

/** How far this machine's clock is ahead of the database's, in milliseconds. 0: by less than a second. */
export const clockError = (): number => -aheadMs;

/** Compares the clocks with a statement that returns the database's time (ISO 8601). */
export async function compareClocks(readTime: () => Promise<string | undefined>): Promise<void> {
  const [startedAt, monotonic] = [Date.now(), performance.now()];
  const time = await readTime();
  const tookMs = performance.now() - monotonic;
  if (time === undefined || tookMs > maxStatementMs) return;
  const difference = Math.round(Date.parse(time) - startedAt - tookMs / 2);
  aheadMs = Math.abs(difference) < minMs ? 0 : difference;
}
