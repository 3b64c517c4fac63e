import type { FakeResponse, RecordedRequest } from "@signalbox/sdk/testing";
import { AlphaTracker } from "../../plugins/alpha/test-tracker.ts";
import { BetaTracker } from "../../plugins/beta/test-tracker.ts";
import { DeltaTracker, workspace } from "../../plugins/delta/test-tracker.ts";
import { GammaTracker } from "../../plugins/gamma/test-tracker.ts";
import type { Ledger } from "./ledger.ts";
import { deltaIssue, type Source, secret, sources } from "./payloads.ts";
import type { Random } from "./random.ts";
import { type Plan, type Planned, TrackerFront } from "./tracker-front.ts";

/** One tracker with its contents. */
interface ChaosTracker {
  readonly front: TrackerFront;
  addIssue(number: number): void;
  /** Texts of the existing comments. */
  standing(): string[];
  /** Texts of the comments that the service has deleted. */
  takenBack(): readonly string[];
}

type Row = Record<string, unknown>;

/** A tracker of the plugins' tests, and the path of its comments. */
interface TestTracker {
  readonly tracker: { url: string };
  readonly carryOut: (request: RecordedRequest) => FakeResponse;
  readonly addIssue: (number: number) => void;
  readonly comments: Row[];
  readonly textOf: (comment: Row) => string;
  /** Finds the id of a comment in the path of its DELETE. */
  readonly deletePath: RegExp;
}

class Alpha extends AlphaTracker {
  #ids = 0;
  /** Ids that remain unique after comments are deleted. */
  override addComment(...given: Parameters<AlphaTracker["addComment"]>): ReturnType<AlphaTracker["addComment"]> {
    const id = ++this.#ids;
    return Object.assign(super.addComment(...given), {
      id,
      html_url: `${this.url}/octo/app/issues/${given[0]}#issuecomment-${id}`,
    });
  }
  carryOut = (request: RecordedRequest) => this.route(request);
}
class Beta extends BetaTracker {
  carryOut = (request: RecordedRequest) => this.route(request);
}
class Gamma extends GammaTracker {
  carryOut = (request: RecordedRequest) => this.route(request);
}
class Delta extends DeltaTracker {
  carryOut = (request: RecordedRequest) => this.route(request);
}

const now = () => new Date().toISOString();
const bodyOf = (row: Row): string => (typeof row.body === "string" ? row.body : JSON.stringify(row.body));

const trackers: Readonly<Record<Source, () => TestTracker>> = {
  alpha: () => {
    const tracker = new Alpha();
    const addIssue = (number: number) => void tracker.addIssue(number, now());
    const comments = { comments: tracker.notes, textOf: bodyOf, deletePath: /\/issues\/comments\/(\d+)$/ };
    return { tracker, carryOut: tracker.carryOut, addIssue, ...comments };
  },
  beta: () => {
    const tracker = new Beta();
    const addIssue = (number: number) => void tracker.add("issues", number, now());
    const comments = { comments: tracker.notes, textOf: bodyOf, deletePath: /\/notes\/(\d+)$/ };
    return { tracker, carryOut: tracker.carryOut, addIssue, ...comments };
  },
  gamma: () => {
    const tracker = new Gamma();
    const addIssue = (number: number) => void tracker.addIssue(`APP-${number}`, now());
    const comments = { comments: tracker.notes, textOf: bodyOf, deletePath: /\/comment\/(\d+)$/ };
    return { tracker, carryOut: tracker.carryOut, addIssue, ...comments };
  },
  delta: () => {
    const tracker = new Delta();
    const addIssue = (number: number) => void tracker.addIssue(deltaIssue(number), now());
    const textOf = (row: Row) => String(row.comment_html);
    const comments = { comments: tracker.notes, textOf, deletePath: /\/comments\/([\w-]+)\/$/ };
    return { tracker, carryOut: tracker.carryOut, addIssue, ...comments };
  },
};

/** Adds a front to the tracker, and the missing operation: deletion of comments. */
async function startTracker(
  { tracker, carryOut, addIssue, comments, textOf, deletePath }: TestTracker,
  ledger: Ledger,
  random: Random,
): Promise<ChaosTracker> {
  const deleted: string[] = [];
  const front = new TrackerFront(random, (request) => {
    const id = request.method === "DELETE" ? deletePath.exec(request.path)?.[1] : undefined;
    if (id !== undefined) {
      const at = comments.findIndex((comment) => String(comment.id) === id);
      if (at < 0) return { status: 404, body: { message: "Not Found" } };
      deleted.push(...comments.splice(at, 1).map(textOf));
      ledger.deleted();
      return { status: 204 };
    }
    const before = comments.length;
    const reply = carryOut(request);
    for (const comment of comments.slice(before)) ledger.posted(textOf(comment));
    if (/^(?:PATCH|PUT)$/.test(request.method) && reply.status < 300) ledger.edited(JSON.stringify(request.body));
    return reply;
  });
  tracker.url = await front.listen();
  return { front, addIssue, standing: () => comments.map(textOf), takenBack: () => deleted };
}

/** The four trackers on loopback. */
export class Trackers {
  readonly all: Readonly<Record<Source, ChaosTracker>>;

  private constructor(all: Readonly<Record<Source, ChaosTracker>>) {
    this.all = all;
  }
  static async start(ledger: Ledger, random: Random): Promise<Trackers> {
    const started = sources.map(async (source) => [
      source,
      await startTracker(trackers[source](), ledger, random.stream(source)),
    ]);
    return new Trackers(Object.fromEntries(await Promise.all(started)));
  }

  get list(): ChaosTracker[] {
    return Object.values(this.all);
  }
  set trouble(factor: number) {
    for (const { front } of this.list) front.trouble = factor;
  }
  /** Applies the same plan to each tracker. */
  plan(plan: Plan): Planned[] {
    return this.list.map(({ front }) => front.plan(plan));
  }
  /** Ends all faults and releases held requests. */
  calm(): void {
    this.trouble = 0;
    for (const { front } of this.list) front.clear();
  }
  /** Variables with the addresses of the trackers for the service. */
  env(): Record<string, string> {
    const { alpha, beta, gamma, delta } = this.all;
    return {
      ALPHA_API_URL: alpha.front.url,
      ALPHA_TOKEN: "test-token-1",
      ALPHA_WEBHOOK_SECRET: secret,
      BETA_URL: beta.front.url,
      BETA_TOKEN: "test-token-1",
      BETA_WEBHOOK_SECRET: secret,
      GAMMA_URL: gamma.front.url,
      GAMMA_EMAIL: "bot@example.com",
      GAMMA_API_TOKEN: "t",
      GAMMA_WEBHOOK_SECRET: secret,
      DELTA_API_URL: delta.front.url,
      DELTA_API_KEY: "test-key-1",
      DELTA_WORKSPACE_SLUG: workspace,
      DELTA_WEBHOOK_SECRET: secret,
    };
  }
  async close(): Promise<void> {
    await Promise.all(this.list.map(({ front }) => front.close()));
  }
}
