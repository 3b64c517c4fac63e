import { setTimeout as sleep } from "node:timers/promises";
import type { Database, Sql } from "./client.ts";

/**
 * The keys of advisory locks, in one place, so that no two are the same by mistake. PostgreSQL distinguishes locks with one key from
 * those with two. The lock on a comment's command has a 64-bit hash as its key. Replicas of two releases exclude each other only if a
 * key stays the same.
 */
export const lockKeys = {
  migrations: 7_160_413,
  vectors: 7_160_414,
  refusals: 7_160_416,
  agentChoice: 7_160_417,
  usageDays: 7_160_420,
} as const;

/** First keys of locks with two keys; the second one is the hash of a name. Triggers use the same keys for subjects and paths. */
export const firstLockKeys = {
  webhookPath: 7_160_414,
  subject: 7_160_415,
  deferredWebhooks: 7_160_416,
  queue: 7_160_418,
} as const;

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
      await sleep(100);
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
