import type { Subject } from "@signalbox/sdk";
import { type FakeResponse, FakeTracker, type RecordedRequest } from "@signalbox/sdk/testing";

interface Comment extends Record<string, unknown> {
  readonly id: number;
  readonly body: string;
  readonly html_url: string;
}

/** The part of Gitea's API that the plugin uses. */
export class GiteaServer extends FakeTracker {
  readonly #comments = new Map<string, Comment[]>();

  comments({ project, issue }: Subject): string[] {
    return this.#of(`/api/v1/repos/${project}/issues/${issue}/comments`).map(({ body }) => body);
  }

  protected route(request: RecordedRequest): FakeResponse {
    const { method, path, headers, body } = request;
    if (headers.authorization !== "token gitea-test-token")
      return { status: 401, body: { message: "invalid username, password or token" } };
    if (path === "/api/v1/user") return { status: 200, body: { id: 9, login: "signalbox" } };
    const reacted = this.reacted(request, /\/issues\/(?:comments\/(\d+)|(\d+))\/reactions(?:\/(\d+))?$/, "content", {
      login: "signalbox",
    });
    if (reacted) return reacted;
    const edited = this.editComment(request, /\/issues\/comments\/(\d+)$/, [...this.#comments.values()].flat());
    if (edited) return edited;
    if (!path.endsWith("/comments")) return { status: 200, body: { ...issue, html_url: `${this.url}/octo/app/issues/7` } };
    const comments = this.#of(path);
    if (method === "GET") return { status: 200, body: comments };
    const id = comments.length + 1;
    comments.push({ id, body: (body as Comment).body, html_url: `${this.url}/octo/app/issues/7#issuecomment-${id}` });
    return { status: 201, body: comments.at(-1), wrote: true };
  }

  #of(path: string): Comment[] {
    const known = this.#comments.get(path) ?? [];
    this.#comments.set(path, known);
    return known;
  }
}

const issue = {
  number: 7,
  title: "Login fails",
  body: "It says 500.",
  state: "open",
  user: { login: "ann" },
  labels: [{ name: "bug" }],
};
