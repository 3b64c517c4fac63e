import type { FakeResponse, RecordedRequest } from "@signalbox/sdk/testing";

/** The webhooks of administrators, in the form of Cloud and older servers, or of newer servers. Secrets are never shown. */
export class Hooks {
  readonly all: Record<string, unknown>[] = [];
  readonly secrets: unknown[] = [];
  list: "/rest/webhooks/1.0/webhook" | "/rest/jira-webhook/1.0/webhooks" = "/rest/webhooks/1.0/webhook";
  /** Whether the account is no administrator. */
  hidden = false;

  route({ method, path, body }: RecordedRequest): FakeResponse | null {
    if (!path.startsWith(this.list)) return null;
    if (this.hidden) return { status: 403, body: { messages: ["Only administrators may do this."] } };
    if (method === "GET") return { status: 200, body: this.all };
    const { secret, configuration = {}, ...sent } = body as { secret?: unknown; configuration?: Record<string, unknown> };
    const id = path.slice(this.list.length + 1);
    if (id === "") {
      this.secrets.push(secret ?? configuration.secret);
      const number = 50 + this.all.length;
      const isOld = this.list === "/rest/webhooks/1.0/webhook";
      const identity = isOld ? { self: `http://tracker${this.list}/${number}`, enabled: true } : { id: number, active: true };
      this.all.push({ ...sent, ...identity });
      return { status: 201, body: this.all.at(-1), wrote: true };
    }
    const hook = this.all.find((one) => String(one.id ?? one.self).endsWith(id));
    return hook ? { status: 200, body: Object.assign(hook, sent), wrote: true } : { status: 404, body: {} };
  }
}
