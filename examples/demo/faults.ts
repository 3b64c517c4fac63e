/** What may go wrong in place of an answer. `limit` is the platform's own way of saying "slow down" with a 403. */
export type Misbehaviour = "status" | "limit" | "hang" | "destroy" | "truncate" | "rubbish" | "none";

/** Makes requests fail on purpose. Plain JSON, so that it can also be sent to `POST /_control/faults`. */
export interface FaultRule {
  /** Any method where absent. */
  readonly method?: string;
  /** Regular expression over path and query; any path where absent. */
  readonly path?: string;
  /** The first matching request that fails, counted from 1. */
  readonly nth?: number;
  /** How many of them fail: 1 where absent, 0 for all until the rule is removed. */
  readonly times?: number;
  /** The request is carried out first, and only then answered wrongly: the caller cannot know. */
  readonly after?: boolean;
  readonly delayMs?: number;
  /** `status` where a status is given; `none` (a delay only) where neither is. */
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
  /** Those that were made to fail. */
  applied: number;
}

/** The rules in force. Every rule counts every request it matches; the oldest one due decides. */
export class Faults {
  readonly #active: (ActiveFault & { readonly pattern: RegExp })[] = [];
  #last = 0;

  /** Throws a `TypeError` that says what is wrong with the rule. */
  add(rule: FaultRule): ActiveFault {
    const fault = { id: ++this.#last, rule, seen: 0, applied: 0, pattern: patternOf(rule) };
    this.#active.push(fault);
    return fault;
  }

  remove(id: number): boolean {
    const at = this.#active.findIndex((fault) => fault.id === id);
    if (at >= 0) this.#active.splice(at, 1);
    return at >= 0;
  }

  clear(): void {
    this.#active.length = 0;
  }

  list(): ActiveFault[] {
    return this.#active.map(({ id, rule, seen, applied }) => ({ id, rule, seen, applied }));
  }

  match(method: string, path: string): FaultRule | null {
    let due: FaultRule | null = null;
    for (const fault of this.#active) {
      if (fault.rule.method && fault.rule.method.toUpperCase() !== method) continue;
      if (!fault.pattern.test(path)) continue;
      fault.seen += 1;
      const { nth = 1, times = 1 } = fault.rule;
      if (due || fault.seen < nth || (times > 0 && fault.seen >= nth + times)) continue;
      fault.applied += 1;
      due = fault.rule;
    }
    return due;
  }
}

export const howOf = (rule: FaultRule): Misbehaviour => rule.how ?? (rule.status ? "status" : "none");

function patternOf(rule: FaultRule): RegExp {
  const known: Misbehaviour[] = ["status", "limit", "hang", "destroy", "truncate", "rubbish", "none"];
  if (rule.how && !known.includes(rule.how))
    throw new TypeError(`fault: how must be one of ${known.join(", ")}; it is "${rule.how}"`);
  if (rule.how === "status" && !rule.status)
    throw new TypeError("fault: how is status, so status must name one, for example 502");
  if (rule.status !== undefined && !(rule.status >= 200 && rule.status <= 599)) {
    throw new TypeError(`fault: status must be between 200 and 599; it is ${rule.status}`);
  }
  try {
    return new RegExp(rule.path ?? "");
  } catch (error) {
    throw new TypeError(`fault: path must be a regular expression: ${(error as Error).message}`);
  }
}
