import type { FakeResponse, RecordedRequest } from "@signalbox/sdk/testing";

/** The webhooks of any project. The token that they send is never shown. */
export class Hooks {
  readonly all: Record<string, unknown>[] = [];
  readonly tokens: unknown[] = [];
  /** Whether the account is no maintainer. */
  hidden = false;

  route({ method, path, body }: RecordedRequest): FakeResponse | null {
    const match = /^\/api\/v4\/projects\/[^/]+\/hooks(?:\/(\d+))?$/.exec(path);
    if (!match) return null;
    const id = match[1];
    if (this.hidden) return { status: 403, body: { message: "403 Forbidden" } };
    if (method === "GET") return { status: 200, body: this.all };
    const { token, ...sent } = body as Record<string, unknown>;
    if (id === undefined) {
      this.tokens.push(token);
      this.all.push({ id: 50 + this.all.length, push_events: true, alert_status: "executable", ...sent });
      return { status: 201, body: this.all.at(-1), wrote: true };
    }
    const hook = this.all.find((one) => one.id === Number(id));
    if (!hook) return { status: 404, body: { message: "404 Not Found" } };
    return { status: 200, body: Object.assign(hook, sent), wrote: true };
  }
}
