import type { FakeResponse, RecordedRequest } from "@signalbox/sdk/testing";

interface Hook {
  readonly id: number;
  active: boolean;
  readonly events: string[];
  readonly config: Record<string, unknown>;
  last_response?: { code: number };
}

/** The webhooks of any repository. */
export class Hooks {
  readonly all: Hook[] = [];
  /** Whether the token may not read them. */
  hidden = false;

  route({ method, path, body }: RecordedRequest): FakeResponse | null {
    const match = /^\/repos\/[^/]+\/[^/]+\/hooks(?:\/(\d+))?$/.exec(path);
    if (!match) return null;
    const id = match[1];
    if (this.hidden) return { status: 404, body: { message: "Not Found" } };
    if (method === "GET") return { status: 200, body: this.all };
    const fields = body as { events?: string[]; add_events?: string[]; config?: Record<string, unknown>; active?: boolean };
    if (id === undefined) {
      const { secret, ...config } = fields.config ?? {};
      const made = { id: 50 + this.all.length, active: true, events: fields.events ?? [], config };
      this.all.push({ ...made, config: { ...config, ...(secret !== undefined && { secret: "********" }) } });
      return { status: 201, body: this.all.at(-1), wrote: true };
    }
    const hook = this.all.find((one) => one.id === Number(id));
    if (!hook) return { status: 404, body: { message: "Not Found" } };
    hook.events.push(...(fields.add_events ?? []));
    hook.active = fields.active ?? hook.active;
    return { status: 200, body: hook, wrote: true };
  }
}
