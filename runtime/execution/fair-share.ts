import type { ClaimedExecution } from "./queries.ts";

/** The project and the author of an execution. Each has a share of the worker's slots. */
export type Owners = Pick<ClaimedExecution, "source" | "project" | "author">;

/** How long other projects and authors are assumed to have no work. */
const noOthersMs = 1_000;

/** The share of a worker's slots that one project or author may use while others wait: half of them. */
export class FairShare {
  readonly #slots: number;
  /** Until this time, only these projects and authors, which exceed their share, are assumed to have waiting executions. */
  #noOthersWaiting: { readonly until: number; readonly owners: readonly string[] } = { until: 0, owners: [] };

  constructor(concurrency: number) {
    this.#slots = Math.max(1, Math.floor(concurrency / 2));
  }

  /** Maximum number of slots of one project or author in the next claim; `null`: any, because no others wait. */
  get limit(): number | null {
    return performance.now() < this.#noOthersWaiting.until ? null : this.#slots;
  }

  /**
   * Call after a claim, with all executions that the worker has leased. If one project or author exceeds its share, the claim has looked
   * for others and found none, so the next claims do not look.
   */
  recordClaim(executions: readonly Owners[]): void {
    if (this.limit === null) return;
    const counts = new Map<string, number>();
    for (const execution of executions) for (const owner of ownersOf(execution)) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    const owners = [...counts].flatMap(([owner, count]) => (count > this.#slots ? owner : []));
    if (owners.length > 0) this.#noOthersWaiting = { until: performance.now() + noOthersMs, owners };
  }

  /** An execution of these begins to wait. */
  makeRoomFor(newcomer: Owners): void {
    if (this.limit !== null) return;
    const newcomers = ownersOf(newcomer);
    if (this.#noOthersWaiting.owners.some((owner) => !newcomers.includes(owner)))
      this.#noOthersWaiting = { until: 0, owners: [] };
  }
}

const ownersOf = ({ source, project, author }: Owners): string[] => [
  ...(project ? [`project ${source} ${project}`] : []),
  ...(author ? [`author ${author}`] : []),
];
