import { PluginError, valueAt } from "@signalbox/sdk";
import { addressOf } from "./address.ts";
import type { Account } from "./client.ts";
import type { Place } from "./place.ts";
import * as shapes from "./shapes.ts";

/**
 * Checks that a note that should be internal is internal. For an account below reporter, on an older server, and on snippets
 * and commits, the platform posts a public note without an error. Then removes the note and throws `unsupported`. Every note
 * on a confidential issue is confidential. If that cannot be read now, also removes the note, and throws the error of the look-up, so
 * that the host posts the note again later.
 */
export async function requirePrivate(account: Account, place: Place, note: unknown, remove: () => Promise<void>): Promise<void> {
  if (valueAt(note, "internal") === true || valueAt(note, "confidential") === true) return;
  const isSafe = await isConfidential(account, place).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  if (isSafe) return;
  await remove();
  throw new PluginError("unsupported", "GitLab stored the note as public, so it was deleted");
}

interface Hideable {
  readonly internal?: boolean | null | undefined;
  readonly confidential?: boolean | null | undefined;
}

/** Whether only members of the project can read a note or an issue. A run with a public answer must not read these. */
export const isHidden = ({ internal, confidential }: Hideable): boolean => internal === true || confidential === true;

/** Throws `unsupported` for a place that has no internal notes, before anything is written. */
export function refusePublicPlace({ kind }: Place): void {
  if (kind === "snippets" || kind === "commits") throw new PluginError("unsupported", `GitLab has no internal notes on ${kind}`);
}

/** Throws `unsupported` unless the issue, and therefore its description, is confidential. */
export async function requireConfidential(account: Account, issue: string | number, project: string | undefined): Promise<void> {
  const address = { ...addressOf(issue, project), thread: null };
  if (!(await isConfidential(account, address)))
    throw new PluginError("unsupported", "the description is public, but this run is about something private");
}

async function isConfidential({ client, signal }: Account, place: Place): Promise<boolean> {
  if (place.kind === "issues") {
    const request = { route: "GET /projects/{project}/issues/{iid}", path: { project: place.project, iid: place.iid }, signal };
    return (await client.read({ ...request, schema: shapes.confidentiality })).data.confidential === true;
  }
  if (place.kind !== "epics") return false;
  const request = { route: "GET /groups/{group}/epics/{iid}", path: { group: place.group, iid: place.iid }, signal };
  return (await client.read({ ...request, schema: shapes.confidentiality })).data.confidential === true;
}
