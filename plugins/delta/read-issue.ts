import type { z } from "zod";
import type { Account } from "./client.ts";
import { statesOf } from "./projects.ts";
import * as shapes from "./shapes.ts";

const maxComments = 30;
const maxPages = 20;

/** Reads an issue, the name of its state, and its last 30 comments, oldest first. */
export async function readIssue({ client, signal }: Account, at: { readonly project: string; readonly issue: string }) {
  const path = { slug: client.slug, ...at };
  const base = "/workspaces/{slug}/projects/{project}";
  const found = (await client.read({ route: `GET ${base}/issues/{issue}/`, path, schema: shapes.issue, signal })).data;
  const state = typeof found.state === "object" && found.state !== null ? found.state : null;
  const id = typeof found.state === "string" ? found.state : null;
  const named = state?.name ?? (id === null ? null : await nameOfState());
  return { found, state: named, comments: await comments() };

  async function nameOfState(): Promise<string | null> {
    const states = await statesOf(client, at.project, signal);
    return states.find((one) => one.id === id)?.name ?? id;
  }

  async function comments() {
    const route = `GET ${base}/issues/{issue}/comments/`;
    const all: z.output<typeof shapes.comment>[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const query = { per_page: 100, cursor };
      const { data } = await client.read({ route, path, query, schema: shapes.lists.shownComments, signal });
      all.push(...data.results.filter((one) => one !== null));
      if (!data.next_page_results || !data.next_cursor) break;
      cursor = data.next_cursor;
    }
    const time = (one: (typeof all)[number]): string => one.created_at ?? "";
    return all.toSorted((a, b) => time(a).localeCompare(time(b))).slice(-maxComments);
  }
}
