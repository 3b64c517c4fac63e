import type { z } from "zod";
import type { Address } from "./address.ts";
import type { Client } from "./client.ts";
import * as shapes from "./shapes.ts";

const maxComments = 30;

/** Where people see an issue; its address in the API if the platform names no other. */
export const issueUrl = (
  client: Client,
  address: Address,
  { html_url }: Pick<z.output<typeof shapes.issue>, "html_url">,
): string => html_url ?? client.addressOf("/repos/{owner}/{repo}/issues/{issue_number}", { ...address });

/** Reads an issue and its last 30 comments, oldest first. */
export async function readIssue(client: Client, address: Address, signal: AbortSignal) {
  const route = "GET /repos/{owner}/{repo}/issues/{issue_number}";
  const found = (await client.read(route, { ...address }, shapes.issue, signal)).data;
  const last = Math.ceil((found.comments ?? 0) / maxComments);
  // The last page is rarely full, so the one before it is read too.
  const wanted = [last - 1, last].filter((page) => page > 0);
  const pages = await Promise.all(
    wanted.map((page) =>
      client.read(`${route}/comments`, { ...address, per_page: maxComments, page }, shapes.shownComments, signal),
    ),
  );
  const comments = pages.flatMap((page) => page.data.filter((one) => one !== null)).slice(-maxComments);
  return { found, comments };
}
