import type { Account } from "./client.ts";
import type { Place } from "./place.ts";
import { type Settings, webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

interface NotePath {
  /** Routes of the notes and the threads. */
  readonly notes: string;
  readonly discussions: string;
  readonly path: Readonly<Record<string, string | number>>;
}

/** Where the notes of a place are. The API names an epic by an id that no webhook contains, so it is looked up. */
export async function notePath({ client, signal }: Account, place: Place): Promise<NotePath> {
  if (place.kind === "commits") {
    const base = "/projects/{project}/repository/commits/{sha}";
    return {
      notes: `${base}/comments`,
      discussions: `${base}/discussions`,
      path: { project: place.project, sha: place.sha },
    };
  }
  if (place.kind === "snippets") {
    const base = "/projects/{project}/snippets/{id}";
    return { notes: `${base}/notes`, discussions: `${base}/discussions`, path: { project: place.project, id: place.id } };
  }
  if (place.kind === "epics") {
    const path = { group: place.group, iid: place.iid };
    const { data } = await client.read({ route: "GET /groups/{group}/epics/{iid}", path, schema: shapes.epic, signal });
    const base = "/groups/{group}/epics/{id}";
    return { notes: `${base}/notes`, discussions: `${base}/discussions`, path: { group: place.group, id: data.id } };
  }
  const { project, kind, iid } = place;
  const base = "/projects/{project}/{kind}/{iid}";
  return { notes: `${base}/notes`, discussions: `${base}/discussions`, path: { project, kind, iid } };
}

/** The platform does not return a note's URL. For a project given by number, the API's URL is used. */
export function urlOf(connection: Settings, place: Place, note: number | string): string {
  const web = webUrlOf(connection);
  if (place.kind === "epics") return `${web}/groups/${place.group}/-/epics/${place.iid}#note_${note}`;
  const { project } = place;
  const number = place.kind === "commits" ? place.sha : place.kind === "snippets" ? place.id : place.iid;
  if (!/^\d+$/.test(project)) {
    return `${web}/${project}/-/${place.kind === "commits" ? "commit" : place.kind}/${number}#note_${note}`;
  }
  const api = place.kind === "commits" ? `repository/commits/${number}/comments` : `${place.kind}/${number}/notes/${note}`;
  return `${web}/api/v4/projects/${project}/${api}`;
}
