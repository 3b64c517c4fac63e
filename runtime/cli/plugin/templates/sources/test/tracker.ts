import type { Subject } from "@signalbox/sdk";
import { type FakeResponse, FakeTracker, type RecordedRequest } from "@signalbox/sdk/testing";

interface Comment {
  readonly id: number;
  readonly body: string;
  readonly url: string;
}

/** The part of the tracker's API that the plugin uses. FakeTracker injects faults (timeouts, truncated responses, 429). */
export class TestTracker extends FakeTracker {
  readonly #comments = new Map<string, Comment[]>();

  comments({ project, issue }: Subject): string[] {
    return this.#of(`/projects/${project}/issues/${issue}/comments`).map(({ body }) => body);
  }

  protected route({ method, path, headers, body }: RecordedRequest): FakeResponse {
    if (headers.authorization !== "Bearer test-token") return { status: 401, body: { message: "bad token" } };
    if (path === "/me") return { status: 200, body: { login: "signalbox" } };
    const comments = this.#of(decodeURIComponent(path));
    if (method === "GET") return { status: 200, body: comments };
    const id = comments.length + 1;
    comments.push({ id, body: (body as Comment).body, url: `${this.url}${path}/${id}` });
    return { status: 201, body: comments.at(-1), wrote: true };
  }

  #of(path: string): Comment[] {
    const known = this.#comments.get(path) ?? [];
    this.#comments.set(path, known);
    return known;
  }
}
