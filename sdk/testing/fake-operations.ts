import { PluginError } from "../errors.ts";
import type { Json } from "../source-event.ts";
import type { OperationsAccess } from "../use-case.ts";

type Row = Readonly<Record<string, Json>>;
type Input = Readonly<Record<string, unknown>>;

/** Agents and tasks of the default seeds. */
const seeds: Readonly<Record<string, readonly string[]>> = {
  agents: ["pm_default", "ta_default", "qa_default", "hub_system", "dev_default"],
  tasks: [
    "triage_initial_intent",
    "tech_discovery_review",
    "intent_interpretation",
    "technical_grooming",
    "dev_environment_setup",
    "feature_implementation",
    "code_quality_audit",
    "quality_verification",
    "customer_uat_sync",
  ],
};

/**
 * Operations of a host with rows in memory: `<noun>.create`, `list`, `get`, `update` and `delete` of every noun. Creating the
 * same row twice is a `conflict`. The change with the number `failAt`, counted from 1, fails before it is made, or, if
 * `failsAfterChange` is set, after it is made.
 */
export class FakeOperations implements OperationsAccess {
  readonly #rows = new Map<string, Row[]>();
  #lastId = 0;
  #changes = 0;
  failAt = 0;
  failsAfterChange = false;

  constructor(without: readonly string[] = []) {
    for (const [noun, ids] of Object.entries(seeds))
      this.#rows.set(
        noun,
        ids.filter((id) => !without.includes(id)).map((id) => ({ id })),
      );
  }

  /** All rows by noun. Nouns without rows are omitted. */
  get rows(): Record<string, readonly Row[]> {
    return Object.fromEntries([...this.#rows].filter(([, rows]) => rows.length > 0).map(([noun, rows]) => [noun, [...rows]]));
  }

  /** Counts a change, even if it is not a row, and fails if its number is `failAt`. */
  change(): void {
    if (++this.#changes === this.failAt && !this.failsAfterChange)
      throw new PluginError("unavailable", "This change fails because the test injects a fault.");
  }

  async call(id: string, input: Input): Promise<Json> {
    const before = this.#changes;
    const answer = this.#carryOut(id, input);
    const isLost = this.failsAfterChange && before < this.failAt && this.failAt <= this.#changes;
    if (isLost) throw new PluginError("unavailable", "The response is lost because the test injects a fault.");
    return answer;
  }

  #carryOut(id: string, input: Input): Json {
    const [noun = "", verb] = id.split(".");
    const rows = this.#rows.get(noun) ?? [];
    const at = rows.findIndex((row) => row.id === input.id);
    if (verb === "list") return page(rows, input);
    if (verb === "create") return this.#create(noun, rows, input);
    if (at < 0) throw new PluginError("not_found", `${id}: there is no ${String(input.id)}`);
    if (verb === "get") return rows[at] as Row;
    this.change();
    if (verb === "delete") this.#rows.set(noun, rows.toSpliced(at, 1));
    else if (verb === "update") this.#rows.set(noun, rows.with(at, { ...rows[at], ...(input as Row) }));
    else throw new PluginError("not_found", `This test has no operation ${id}`);
    return verb === "delete" ? {} : { ...rows[at], ...(input as Row) };
  }

  #create(noun: string, rows: readonly Row[], input: Input): Row {
    const data = JSON.parse(JSON.stringify(input)) as Row;
    const same = (row: Row) => Object.entries(data).every(([name, value]) => JSON.stringify(row[name]) === JSON.stringify(value));
    if (rows.some((row) => same(row) || row.id === data.id)) throw new PluginError("conflict", `${noun}: already exists`);
    this.change();
    const row = { ...data, id: data.id ?? ++this.#lastId };
    this.#rows.set(noun, [...rows, row]);
    return row;
  }
}

function page(rows: readonly Row[], { limit = 50, offset = 0 }: { limit?: number; offset?: number } & Input): Json {
  return { items: rows.slice(offset, offset + limit), total: rows.length };
}
