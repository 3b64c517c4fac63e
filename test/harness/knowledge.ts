import { account, FakeWiki } from "../../plugins/wiki/test-wiki.ts";
import type { Service } from "./service.ts";
import { eventually } from "./wait.ts";

export interface Job {
  readonly id: string;
  readonly status: "queued" | "running" | "succeeded" | "failed";
  readonly pages_seen: number;
  readonly pages_changed: number;
  readonly pages_deleted: number;
  readonly chunks_written: number;
  readonly error: string | null;
}

/** A wiki that can stop responding in the middle of a sync, so that a test does not depend on timing. */
export class StallingWiki extends FakeWiki {
  /** Number of reads of pages, at most 25 pages each. */
  reads = 0;
  stallAfter = Number.POSITIVE_INFINITY;

  protected override route(...[request]: Parameters<FakeWiki["route"]>): ReturnType<FakeWiki["route"]> {
    if (request.query.get("body-format") === "storage" && ++this.reads === this.stallAfter) this.fault({ kind: "hang" });
    return super.route(request);
  }
}

export const wikiConfig = (wiki: { url: string }): Record<string, unknown> => ({
  base_url: wiki.url,
  space_keys: ["DOCS"],
  ...account,
});

export const jobsOf = async (service: Service, source: string): Promise<Job[]> =>
  (await service.get<Job[]>(`/api/knowledge-sources/${source}/jobs`)).body;

/** Syncs a source and waits until the job has ended. */
export async function synced(service: Service, source: string, timeout = 60_000): Promise<Job> {
  const { status, body } = await service.post<Job>(`/api/knowledge-sources/${source}/sync`);
  if (status !== 202) throw new Error(`the sync answered ${status}: ${JSON.stringify(body)}`);
  return ended(service, source, body.id, timeout);
}

export const ended = (service: Service, source: string, job: string, timeout = 60_000): Promise<Job> =>
  eventually(
    async () => {
      const found = (await jobsOf(service, source)).find(({ id }) => id === job);
      if (found?.status !== "succeeded" && found?.status !== "failed") throw new Error(`the job is ${JSON.stringify(found)}`);
      return found;
    },
    { timeout },
  );
