import type { Sql } from "../platform/database/client.ts";
import type { Finding, Probe } from "./board.ts";
import { type FailedPosts, listFailedPosts, listLastPosts, type Poster } from "./post-queries.ts";
import { integrationNames } from "./queries.ts";
import { accountName } from "./remote-probes.ts";

const everyMs = 10_000;

/** Id of the connection that an execution uses now; `null` if its credentials cannot be used, which another check reports. */
type AccountOf = (poster: Poster) => Promise<string | null>;

interface RefusedPosts {
  readonly source: string;
  /** Id of the connection. */
  readonly account: string;
  readonly executions: number;
  readonly issues: number;
  /** That of the latest failure. */
  readonly error: string;
}

/** Accounts whose comments a source refuses although it is available, so that no execution waits for it; no check if there are none. */
export const postsProbe = (sql: Sql, accountOf: AccountOf): Probe => ({
  name: "posts",
  everyMs,
  run: async () => {
    const refused = await listRefusedPosts(sql, accountOf);
    const ids = refused.map(({ account }) => account).filter((id) => id !== "environment");
    const names = ids.length > 0 ? await integrationNames(sql, ids) : new Map<string, string>();
    return refused.map(({ source, account, executions, issues, error }): Finding => {
      const failed = `${executions} executions on ${issues} issues failed to post to ${source} in the last hour`;
      const message = `${failed}. Latest error: ${error.replace(/\.$/, "")}. Correct the cause, then restart them`;
      return { name: `posts:${accountName(source, account, names)}`, state: "degraded", message };
    });
  },
});

/**
 * The accounts with which executions on at least two issues failed to post in the last hour, if none has posted with it since then.
 * One issue alone may be locked or deleted.
 */
export async function listRefusedPosts(sql: Sql, accountOf: AccountOf): Promise<RefusedPosts[]> {
  const failed = await listFailedPosts(sql);
  const oldest = failed.at(-1);
  if (!oldest) return [];
  const sources = [...new Set(failed.map(({ source }) => source))];
  const posted = new Map<string, string>();
  for (const { last_at, ...poster } of await listLastPosts(sql, sources, oldest.last_at)) {
    const key = await keyOf(poster, accountOf);
    if (key !== null && last_at > (posted.get(key) ?? "")) posted.set(key, last_at);
  }
  const byAccount = new Map<string, FailedPosts[]>();
  for (const one of failed) {
    const key = await keyOf(one, accountOf);
    if (key !== null) byAccount.set(key, [...(byAccount.get(key) ?? []), one]);
  }
  return [...byAccount].flatMap(([key, posts]) => {
    // The newest failure is first.
    const issues = [...Map.groupBy(posts, ({ subject }) => subject).values()];
    const [latest, second] = issues.map(([first]) => first);
    if (!latest || !second || (posted.get(key) ?? "") > second.last_at) return [];
    const executions = posts.reduce((sum, one) => sum + one.executions, 0);
    const { source, error } = latest;
    return [{ source, account: key.slice(source.length + 1), executions, issues: issues.length, error }];
  });
}

async function keyOf(poster: Poster, accountOf: AccountOf): Promise<string | null> {
  const account = await accountOf(poster);
  return account === null ? null : `${poster.source} ${account}`;
}
