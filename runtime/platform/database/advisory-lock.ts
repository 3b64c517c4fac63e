import type { Database, Sql } from "./client.ts";

type Session = Awaited<ReturnType<Sql["reserve"]>>;

/**
 * Runs work in a session of its own, under a lock that one session holds at a time. Polls for the lock, so that no statement
 * waits for it: `create index concurrently` waits for the statements of all sessions.
 */
export async function underAdvisoryLock<T>(database: Database, lock: number, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await database.longRunning.reserve();
  try {
    for (;;) {
      const [row] = await session<[{ mine: boolean }]>`select pg_try_advisory_lock(${lock}) as mine`;
      if (row.mine) break;
      await new Promise((done) => setTimeout(done, 100));
    }
    try {
      return await work(session);
    } finally {
      await session`select pg_advisory_unlock(${lock})`.catch(() => {});
    }
  } finally {
    session.release();
  }
}
