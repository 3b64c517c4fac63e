import type { Subject } from "../contract.ts";
import { type FakeResponse, FakeServer, type RecordedRequest } from "./fake-server.ts";
import type { TestTracker } from "./fixtures.ts";

/** A fake tracker on a free loopback port. A subclass implements the routes and the state. */
export abstract class FakeTracker extends FakeServer implements TestTracker {
  abstract comments(subject: Subject): readonly string[];

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
