import type { Hono } from "hono";
import { invalid, Refusal } from "./refusal.ts";
import { userShape } from "./tracker-shapes.ts";

interface StoredReaction {
  readonly id: number;
  /** `issues/12` or `comments/34`. */
  readonly on: string;
  readonly content: string;
}

const contents = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

/** Reactions of the account that posts, on issues and comments. Other accounts have none. */
export class Reactions {
  readonly #all: StoredReaction[] = [];
  #last = 5_000_000;

  /** Contents of the reactions on `owner/name issues/12` or `owner/name comments/34`. */
  on(target: string): string[] {
    return this.#all.filter(({ on }) => on === target.toLowerCase()).map(({ content }) => content);
  }

  addRoutes(app: Hono, base: () => string, login: string): void {
    const shape = ({ id, content }: StoredReaction) => ({ id, node_id: `RE_${id}`, user: userShape(base(), login), content });
    for (const kind of ["issues", "comments"]) {
      const route =
        kind === "issues" ? "/repos/:owner/:repo/issues/:number{[0-9]+}" : "/repos/:owner/:repo/issues/comments/:number{[0-9]+}";
      const target = (owner: string, repo: string, number: string) => `${owner}/${repo} ${kind}/${number}`.toLowerCase();
      app.get(`${route}/reactions`, (c) => {
        const { owner, repo, number } = c.req.param() as Record<string, string>;
        const on = target(owner ?? "", repo ?? "", number ?? "");
        return c.json(this.#all.filter((one) => one.on === on).map(shape));
      });
      app.post(`${route}/reactions`, async (c) => {
        const { owner, repo, number } = c.req.param() as Record<string, string>;
        const on = target(owner ?? "", repo ?? "", number ?? "");
        const { content } = await c.req.json<{ content?: string }>();
        if (!content || !contents.includes(content)) throw invalid("Reaction", "invalid", "content");
        const there = this.#all.find((one) => one.on === on && one.content === content);
        if (there) return c.json(shape(there), 200);
        const newReaction = { id: ++this.#last, on, content };
        this.#all.push(newReaction);
        return c.json(shape(newReaction), 201);
      });
      app.delete(`${route}/reactions/:reaction{[0-9]+}`, (c) => {
        const at = this.#all.findIndex(({ id }) => id === Number(c.req.param("reaction")));
        if (at < 0) throw new Refusal(404, "Not Found");
        this.#all.splice(at, 1);
        return c.body(null, 204);
      });
    }
  }
}
