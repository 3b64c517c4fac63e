/** Kinds of faults. `limit` is the platform's secondary rate limit: a 403. */
export type Misbehaviour = "status" | "limit" | "hang" | "destroy" | "truncate" | "rubbish" | "none";

/** A rule that makes requests fail. Plain JSON, so that it can also be sent to `POST /_control/faults`. */
export interface FaultRule {
  /** Default: any method. */
  readonly method?: string;
  /** Regular expression on path and query. Default: any path. */
  readonly path?: string;
  /** Regular expression on the body. Default: any body. */
  readonly body?: string;
  /** The first matching request that fails, counted from 1. */
  readonly nth?: number;
  /** How many of them fail. Default: 1. 0: all, until the rule is removed. */
  readonly times?: number;
  /** Carries out the request before the fault, so that the caller cannot know its outcome. */
  readonly after?: boolean;
  readonly delayMs?: number;
  /** Holds the request until the rule is removed. Then it is carried out, even if its sender has closed the connection. */
  readonly hold?: boolean;
  /** Default: `status` if a status is given, else `none` (only a delay). */
  readonly how?: Misbehaviour;
  readonly status?: number;
  /** Seconds, sent as `Retry-After`. */
  readonly retryAfter?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ActiveFault {
  readonly id: number;
  readonly rule: FaultRule;
  /** Matching requests so far. */
  seen: number;
  /** Failed requests. */
  applied: number;
}

/** The rule that applies to a request. */
interface DueFault {
  readonly rule: FaultRule;
  /** Resolves when the rule is removed. */
  readonly removed: Promise<void>;
}

/** The active rules. Every rule counts every request that it matches; of several that are due, the oldest applies. */
export class Faults {
  readonly #active: (ActiveFault & { readonly patterns: Patterns; readonly removed: PromiseWithResolvers<void> })[] = [];
  #last = 0;

  /** Throws a `TypeError` for an invalid rule. */
  add(rule: FaultRule): ActiveFault {
    const fault = {
      id: ++this.#last,
      rule,
      seen: 0,
      applied: 0,
      patterns: patternsOf(rule),
      removed: Promise.withResolvers<void>(),
    };
    this.#active.push(fault);
    return fault;
  }

  remove(id: number): boolean {
    const at = this.#active.findIndex((fault) => fault.id === id);
    if (at >= 0) this.#active.splice(at, 1)[0]?.removed.resolve();
    return at >= 0;
  }

  clear(): void {
    for (const { removed } of this.#active.splice(0)) removed.resolve();
  }

  list(): ActiveFault[] {
    return this.#active.map(({ id, rule, seen, applied }) => ({ id, rule, seen, applied }));
  }

  match(method: string, path: string, body = ""): DueFault | null {
    let due: DueFault | null = null;
    for (const fault of this.#active) {
      if (fault.rule.method && fault.rule.method.toUpperCase() !== method) continue;
      if (!fault.patterns.path.test(path) || !fault.patterns.body.test(body)) continue;
      fault.seen += 1;
      const { nth = 1, times = 1 } = fault.rule;
      if (due || fault.seen < nth || (times > 0 && fault.seen >= nth + times)) continue;
      fault.applied += 1;
      due = { rule: fault.rule, removed: fault.removed.promise };
    }
    return due;
  }
}

export const howOf = (rule: FaultRule): Misbehaviour => rule.how ?? (rule.status ? "status" : "none");

interface Patterns {
  readonly path: RegExp;
  readonly body: RegExp;
}

function patternsOf(rule: FaultRule): Patterns {
  const misbehaviours: Misbehaviour[] = ["status", "limit", "hang", "destroy", "truncate", "rubbish", "none"];
  if (rule.how && !misbehaviours.includes(rule.how))
    throw new TypeError(`fault: how must be one of ${misbehaviours.join(", ")}; it is "${rule.how}"`);
  if (rule.how === "status" && !rule.status) throw new TypeError("fault: status is required if how is status, for example 502");
  if (rule.status !== undefined && !(rule.status >= 200 && rule.status <= 599)) {
    throw new TypeError(`fault: status must be between 200 and 599; it is ${rule.status}`);
  }
  try {
    return { path: new RegExp(rule.path ?? ""), body: new RegExp(rule.body ?? "") };
  } catch (error) {
    throw new TypeError(`fault: path and body must be regular expressions: ${(error as Error).message}`);
  }
}
