import type { FakeResponse, RecordedRequest } from "@signalbox/sdk/testing";

interface Placed {
  readonly id: number;
  /** Path of the list, or id of the GraphQL node, that the comment is in. */
  readonly at: string;
  readonly body: string;
  readonly [member: string]: unknown;
}

const lists = /^(\/repos\/[^/]+\/[^/]+\/(?:issues\/\d+|pulls\/\d+|commits\/[0-9a-f]+)\/comments)(?:\/(\d+)\/replies)?$/;
const one = /^\/repos\/[^/]+\/[^/]+\/(?:issues\/|pulls\/)?comments\/(\d+)$/;

/** Comments in any repository: on issues, in review threads, on commits and, through GraphQL, on discussions. */
export class PlacedComments {
  readonly all: Placed[] = [];
  /** Whether the GraphQL API refuses, as it does for a token without the scope. */
  refuses = false;

  route({ method, path, body }: RecordedRequest, url: string): FakeResponse | null {
    if (path === "/graphql") return this.#graphql(body as { query: string; variables: Record<string, string | null> }, url);
    const deletedId = method === "DELETE" ? one.exec(path)?.[1] : undefined;
    if (deletedId !== undefined) return this.#delete(Number(deletedId));
    const [, at, first] = lists.exec(path) ?? [];
    if (at === undefined) return null;
    if (method === "GET") return { status: 200, body: this.all.filter((comment) => comment.at === at) };
    const made = this.#add(at, url, { ...(body as object), ...(first && { in_reply_to_id: Number(first) }) });
    return { status: 201, body: made, wrote: true };
  }

  #add(at: string, url: string, content: object): Placed {
    const id = 7_000 + this.all.length;
    const made = { id, at, html_url: `${url}${at}#${id}`, user: { login: "signalbox-bot" }, ...content } as unknown as Placed;
    this.all.push(made);
    return made;
  }

  #delete(id: number): FakeResponse {
    const found = this.all.findIndex((comment) => comment.id === id);
    if (found < 0) return { status: 404, body: { message: "Not Found" } };
    this.all.splice(found, 1);
    return { status: 204, wrote: true };
  }

  #graphql({ query, variables }: { query: string; variables: Record<string, string | null> }, url: string): FakeResponse {
    if (this.refuses) {
      const errors = [{ type: "FORBIDDEN", message: "Resource not accessible by personal access token" }];
      return { status: 200, body: { data: null, errors } };
    }
    if (query.includes("addDiscussionComment(")) {
      const at = variables.reply_to ?? variables.discussion ?? "";
      const { id, html_url } = this.#add(at, `${url}/discussions/`, { body: variables.body });
      return {
        status: 200,
        body: { data: { addDiscussionComment: { comment: { id: `DC_${id}`, url: html_url } } } },
        wrote: true,
      };
    }
    if (query.includes("deleteDiscussionComment(")) {
      const deleteResponse = this.#delete(Number(variables.id?.slice(3)));
      return { ...deleteResponse, status: 200, body: { data: { deleteDiscussionComment: {} } } };
    }
    const nodes = this.all
      .filter(({ at }) => at === variables.id)
      .map(({ id, body, html_url }) => ({ id: `DC_${id}`, body, url: html_url }));
    const pageInfo = { hasPreviousPage: false, startCursor: null };
    return { status: 200, body: { data: { node: { comments: { nodes, pageInfo } } } } };
  }
}
