import { afterAll, beforeAll } from "vitest";
import type { Database } from "./client.ts";
import { type TestDatabase, testDatabase, testServer } from "./test-database.ts";

/**
 * Creates a migrated database for the tests of a file before they run, and drops it after them. The tests need the tag
 * `postgres`. `max`: maximum number of connections.
 */
export function useTestDatabase(max = 4): () => Database {
  let own: TestDatabase | null = null;
  beforeAll(async () => {
    if (testServer) own = await testDatabase(testServer, { replicas: 1, max });
  }, 60_000);
  afterAll(() => own?.drop());
  return () => {
    const [database] = own?.pools ?? [];
    if (!database) throw new Error("TEST_DATABASE_URL is not set: give the test the tag postgres.");
    return database;
  };
}
