import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FakeResponse, RecordedRequest } from "@signalbox/sdk/testing";
import type { Random } from "./random.ts";

/** The result of one request. `after`: it is carried out first, so its sender cannot know the outcome. */
type Trouble =
  | { readonly kind: "status"; readonly status: number; readonly retryAfter?: number; readonly after?: boolean }
  | { readonly kind: "reset"; readonly after?: boolean }
  | { readonly kind: "slow"; readonly ms: number; readonly after?: boolean }
  | { readonly kind: "hold"; readonly after?: boolean };

/** Selects the requests that a scenario waits for. */
export interface Plan {
  readonly method: string;
  readonly path?: RegExp;
  /** Number of these requests. Default: 1. */
  readonly times?: number;
  readonly trouble: Trouble;
}
export interface Planned {
  /** Number of matching requests so far. */
  readonly met: number;
  /** Releases held requests, and holds no further ones. */
  release(): void;
}

/** Probabilities of each fault of a request, in the order in which they are tried. */
const writeTroubles = (random: Random): readonly (readonly [number, Trouble])[] => [
  [0.015, { kind: "status", status: 500 }],
  [0.015, { kind: "status", status: 502, after: true }],
  [0.015, { kind: "reset", after: true }],
  [0.005, { kind: "reset" }],
  [0.006, { kind: "status", status: 429, retryAfter: Math.ceil(random.between(0, 12)) }],
  [0.01, { kind: "slow", ms: random.between(1000, 4000) }],
  [0.005, { kind: "slow", ms: random.between(1000, 4000), after: true }],
  [0.006, { kind: "slow", ms: random.between(8000, 15_000) }],
];
const readTroubles = (random: Random): readonly (readonly [number, Trouble])[] => [
  [0.01, { kind: "status", status: 500 }],
  [0.01, { kind: "reset" }],
  [0.01, { kind: "slow", ms: random.between(500, 3000), after: true }],
];

interface ActivePlan extends Planned {
  readonly plan: Plan;
  readonly held: Set<() => void>;
  met: number;
  released: boolean;
}

/** The HTTP side of a tracker: carries out requests, and injects faults into some of them, at random or as a scenario plans. */
export class TrackerFront {
  /** Multiplies the probabilities; 0 for no random faults. */
  trouble = 0;
  url = "";
  readonly counts: Record<string, number> = {};
  readonly #plans: ActivePlan[] = [];
  readonly #random: Random;
  readonly #carryOut: (request: RecordedRequest) => FakeResponse;
  readonly #server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
    this.#answer(request, response).catch(() => request.socket.destroy());
  });

  constructor(random: Random, carryOut: (request: RecordedRequest) => FakeResponse) {
    this.#random = random;
    this.#carryOut = carryOut;
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this.url;
  }
  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((done) => void this.#server.close(() => done()));
  }

  /** Plans take precedence over random faults; the oldest matching one is used. */
  plan(plan: Plan): Planned {
    const active: ActivePlan = {
      plan,
      held: new Set(),
      met: 0,
      released: false,
      release() {
        active.released = true;
        for (const go of active.held) go();
      },
    };
    this.#plans.push(active);
    return active;
  }
  /** Ends all plans. */
  clear(): void {
    for (const plan of this.#plans.splice(0)) plan.release();
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    let text = "";
    for await (const part of incoming) text += part;
    const { pathname, searchParams } = new URL(incoming.url ?? "/", this.url);
    const method = incoming.method ?? "GET";
    const body = text === "" ? undefined : JSON.parse(text);
    const request: RecordedRequest = { method, path: pathname, query: searchParams, headers: incoming.headers, body };
    const [trouble, plan] = this.#troubleOf(request);
    if (trouble) this.counts[trouble.kind] = (this.counts[trouble.kind] ?? 0) + 1;
    let reply = trouble?.after ? this.#carryOut(request) : null;
    if (trouble?.kind === "slow") await sleep(trouble.ms);
    if (trouble?.kind === "hold" && plan) await held(plan);
    if (trouble?.kind === "reset") return void incoming.socket.resetAndDestroy();
    if (trouble?.kind === "status") reply = refusal(trouble.status, trouble.retryAfter);
    reply ??= this.#carryOut(request);
    const json = reply.body === undefined ? "" : JSON.stringify(reply.body);
    outgoing.writeHead(reply.status, { "content-type": "application/json; charset=utf-8", ...reply.headers }).end(json);
  }

  #troubleOf({ method, path }: RecordedRequest): [Trouble | null, ActivePlan | null] {
    const plan = this.#plans.find(
      (one) =>
        !one.released && one.plan.method === method && one.met < (one.plan.times ?? 1) && (one.plan.path?.test(path) ?? true),
    );
    if (plan) {
      plan.met++;
      return [plan.plan.trouble, plan];
    }
    if (this.trouble === 0) return [null, null];
    const choices = method === "GET" ? readTroubles(this.#random) : writeTroubles(this.#random);
    return [this.#random.draw(choices, this.trouble), null];
  }
}

const held = (plan: ActivePlan): Promise<void> => {
  if (plan.released) return Promise.resolve();
  return new Promise((done) => void plan.held.add(done));
};

const refusal = (status: number, retryAfter: number | undefined): FakeResponse => ({
  status,
  body: { message: `Status ${status}`, errorMessages: [`Status ${status}`], error: `Status ${status}` },
  ...(retryAfter !== undefined && { headers: { "retry-after": String(retryAfter) } }),
});
