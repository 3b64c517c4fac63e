import type { ReactionTarget } from "../source.ts";
import type { Subject } from "../source-event.ts";
import { type FakeResponse, FakeServer, type RecordedRequest } from "./fake-server.ts";
import type { TestTracker } from "./fixtures.ts";

/** A simulated tracker on a free loopback port. A subclass implements the routes and the state. */
export abstract class FakeTracker extends FakeServer implements TestTracker {
  abstract comments(subject: Subject): readonly string[];
  readonly #reactions: StoredReaction[] = [];

  reactions = ({ subject, comment }: ReactionTarget): readonly string[] =>
    this.#reactions
      .filter(({ on }) => on === (comment === null ? `issue ${subject.issue.replace(/\D/g, "")}` : `comment ${comment}`))
      .map(({ sign }) => sign);

  /**
   * Carries out a request for reactions whose path matches, with the comment, the issue and the reaction as its groups; `null` for
   * any other request. `member` holds the sign: `content` or `name`.
   */
  protected reacted(
    { method, path, body }: RecordedRequest,
    pattern: RegExp,
    member: string,
    user: Record<string, unknown> = { login: "signalbox-bot" },
  ): FakeResponse | null {
    const match = pattern.exec(path);
    if (!match) return null;
    const [, comment, issue, id] = match;
    const on = comment === undefined ? `issue ${issue}` : `comment ${comment}`;
    const toApi = ({ sign, ...reaction }: StoredReaction) => ({ ...reaction, [member]: sign });
    const all = this.#reactions.filter((one) => one.on === on);
    if (method === "GET") return { status: 200, body: all.map(toApi) };
    if (method === "DELETE") {
      const sign = (body as Record<string, unknown> | undefined)?.[member];
      const at = this.#reactions.findIndex((one) => one.on === on && (id ? String(one.id) === id : one.sign === sign));
      if (at < 0) return { status: 404, body: { message: "Not Found" } };
      this.#reactions.splice(at, 1);
      return { status: 204, wrote: true };
    }
    const sign = String((body as Record<string, unknown>)[member]);
    const existingReaction = all.find((one) => one.sign === sign && JSON.stringify(one.user) === JSON.stringify(user));
    if (existingReaction) return { status: 200, body: toApi(existingReaction) };
    const newReaction = { on, id: (this.#reactions.at(-1)?.id ?? 0) + 1, sign, user, created_at: new Date().toISOString() };
    this.#reactions.push(newReaction);
    return { status: 201, body: toApi(newReaction), wrote: true };
  }

  /** Carries out the PUT or PATCH of a comment whose path matches, with its id as the first group; `null` for any other request. */
  protected editComment(
    { method, path, body }: RecordedRequest,
    pattern: RegExp,
    comments: Record<string, unknown>[],
  ): FakeResponse | null {
    const id = method === "PUT" || method === "PATCH" ? pattern.exec(path)?.[1] : undefined;
    if (id === undefined) return null;
    const comment = comments.find((one) => String(one.id) === id);
    if (!comment) return { status: 404, body: { message: "Not Found" } };
    const now = new Date().toISOString();
    const times = { ...("updated_at" in comment && { updated_at: now }), ...("updated" in comment && { updated: now }) };
    Object.assign(comment, body, times);
    return { status: 200, body: comment, wrote: true };
  }

  /** Carries out the DELETE of a comment whose path matches, with its id as the first group; `null` for any other request. */
  protected deleteComment(
    { method, path }: RecordedRequest,
    pattern: RegExp,
    comments: Record<string, unknown>[],
  ): FakeResponse | null {
    const id = method === "DELETE" ? pattern.exec(path)?.[1] : undefined;
    if (id === undefined) return null;
    const at = comments.findIndex((comment) => String(comment.id) === id);
    if (at < 0) return { status: 404, body: { message: "Not Found" } };
    comments.splice(at, 1);
    return { status: 204, wrote: true };
  }
}

interface StoredReaction {
  readonly on: string;
  readonly id: number;
  readonly sign: string;
  readonly user: Record<string, unknown>;
  readonly created_at: string;
}
