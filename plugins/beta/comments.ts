import { addMarker, ifCode, type PostedComment, readMarker, sanitizeText, truncate, writeShorter } from "@signalbox/sdk";
import type { Account } from "./client.ts";
import { notePath, urlOf } from "./note-path.ts";
import type { Place } from "./place.ts";
import { withoutQuickActions } from "./quick-actions.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";
import { requirePrivate } from "./visibility.ts";

/** Longest note or description that the platform accepts, in characters. */
export const maxCommentLength = 1_000_000;
/** Pages of 100; the platform allows 5,000 notes on an issue. */
const maxPages = 60;

interface NoteText {
  readonly body: string;
  readonly key: string;
  /** Only members may read it. */
  readonly private?: boolean | undefined;
}

/**
 * Posts a note, or a reply if the place is a thread. On a commit, notes exist only in threads, so one is started. Throws
 * `unsupported` if a private note is impossible.
 */
export async function postComment(account: Account, place: Place, text: NoteText): Promise<PostedComment> {
  const base = await notePath(account, place);
  return writeShorter(text.body, (body) => postNote(account, place, base, { ...text, body }));
}

async function postNote(
  account: Account,
  place: Place,
  base: Awaited<ReturnType<typeof notePath>>,
  text: NoteText,
): Promise<PostedComment> {
  const { client, connection, signal } = account;
  const body = { body: commentBody(text.body, text.key), ...(text.private && { internal: true }) };
  if (place.kind === "commits" && place.thread === null) {
    const route = `POST ${base.discussions}`;
    const { data } = await client.write({ route, path: base.path, body, schema: shapes.discussion, signal });
    return { id: `${data.id}:${data.notes[0].id}`, url: urlOf(connection, place, data.notes[0].id) };
  }
  const route = place.thread === null ? `POST ${base.notes}` : `POST ${base.discussions}/{discussion}/notes`;
  const path = { ...base.path, ...(place.thread !== null && { discussion: place.thread }) };
  const { data } = await client.write({ route, path, body, schema: shapes.writtenNote, signal });
  const posted = postedCommentOf(connection, place, data.id);
  if (text.private) await requirePrivate(account, place, data, () => deleteComment(account, place, posted.id));
  return posted;
}

/** The text replaces the whole note, so the marker of `key` does too. */
export async function updateComment(
  account: Account,
  place: Place,
  { id }: PostedComment,
  text: Omit<NoteText, "private">,
): Promise<PostedComment> {
  const { client, connection, signal } = account;
  const { route, path } = await noteAt(account, place, id);
  await writeShorter(text.body, (shown) => {
    const body = { body: commentBody(shown, text.key) };
    return client.write({ route: `PUT ${route}`, path, body, schema: shapes.writtenNote, signal });
  });
  return { id, url: urlOf(connection, place, id.split(":").at(-1) ?? id) };
}

/** Succeeds where the note no longer exists. */
export async function deleteComment(account: Account, place: Place, id: string): Promise<void> {
  const { route, path } = await noteAt(account, place, id);
  const request = { route: `DELETE ${route}`, path, schema: shapes.ignoredBody, signal: account.signal };
  await account.client.write(request).catch(ifCode("not_found", null));
}

/** A note of a commit is found by its thread only, so its id names both. */
async function noteAt(account: Account, place: Place, id: string) {
  const base = await notePath(account, place);
  const [discussion, note] = id.includes(":") ? id.split(":") : [null, id];
  return discussion === null
    ? { route: `${base.notes}/{note}`, path: { ...base.path, note: note ?? id } }
    : { route: `${base.discussions}/{discussion}/notes/{note}`, path: { ...base.path, discussion, note: note ?? id } };
}

/** The note about the cut comes first: after the text, an unclosed code fence would swallow it. */
function commentBody(body: string, key: string): string {
  const text = withoutQuickActions(sanitizeText(body));
  const whole = addMarker(text, key);
  if (whole.length <= maxCommentLength) return whole;
  const note = `> **Cut off.** This text has ${body.length} characters, but a comment can have only ${maxCommentLength}. The end is missing.`;
  return truncate(addMarker(`${note}\n\n${text}`, key), maxCommentLength);
}

/**
 * Finds the note with the marker of `key`; newest first. A private one that is public is deleted, and throws `unsupported`: when it was
 * posted, it could not be deleted.
 */
export async function findComment(
  account: Account,
  place: Place,
  { key, private: isPrivate }: Omit<NoteText, "body">,
): Promise<PostedComment | null> {
  if (place.kind === "commits") return (await findAllComments(account, place, key)).at(-1) ?? null;
  for await (const page of pages(account, place, "desc")) {
    const found = page.find((note) => note !== null && readMarker(note.body) === key);
    if (!found) continue;
    const posted = postedCommentOf(account.connection, place, found.id);
    if (isPrivate) await requirePrivate(account, place, found, () => deleteComment(account, place, posted.id));
    return posted;
  }
  return null;
}

/** Every note that carries `key`, oldest first. */
export async function findAllComments(account: Account, place: Place, key: string): Promise<PostedComment[]> {
  const comments: PostedComment[] = [];
  for await (const page of pages(account, place, "asc")) {
    for (const note of page) {
      if (note === null || readMarker(note.body) !== key) continue;
      const posted = postedCommentOf(account.connection, place, note.id);
      comments.push(note.discussion ? { ...posted, id: `${note.discussion}:${note.id}` } : posted);
    }
  }
  return comments;
}

type ListedNote = { readonly id: number; readonly body: string; readonly discussion?: string };

async function* pages(account: Account, place: Place, sort: "asc" | "desc"): AsyncGenerator<readonly (ListedNote | null)[]> {
  const { client, signal } = account;
  const { notes, discussions, path } = await notePath(account, place);
  for (let page = 1; page <= maxPages; page++) {
    const paging = { per_page: 100, page };
    if (place.kind === "commits") {
      const request = { route: `GET ${discussions}`, path, query: paging, schema: shapes.discussions, signal };
      const { data } = await client.read(request);
      yield data.flatMap(({ id, notes }) => notes.map((note) => note && { ...note, discussion: id }));
      if (data.length < 100) return;
      continue;
    }
    const query = { ...paging, sort, order_by: "created_at" };
    const { data } = await client.read({ route: `GET ${notes}`, path, query, schema: shapes.notes, signal });
    yield data;
    if (data.length < 100) return;
  }
}

const postedCommentOf = (connection: Settings, place: Place, id: number): PostedComment => ({
  id: place.kind === "commits" && place.thread !== null ? `${place.thread}:${id}` : String(id),
  url: urlOf(connection, place, id),
});
