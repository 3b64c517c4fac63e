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
  /** The share in the claim that is running. */
  #claimLimit: number | null = null;
  /**
   * Owners that are common to all executions that began to wait since the last claim was sent, which may not have seen them.
   * `null`: none did.
   */
  #newcomers: readonly string[] | null = null;

  constructor(concurrency: number) {
    this.#slots = Math.max(1, Math.floor(concurrency / 2));
  }

  /**
   * Call before a claim. Returns the maximum number of slots of one project or author in it; `null`: any, because no others
   * wait.
   */
  startClaim(): number | null {
    this.#newcomers = null;
    this.#claimLimit = performance.now() < this.#noOthersWaiting.until ? null : this.#slots;
    return this.#claimLimit;
  }

  /**
   * Call after a claim, with the executions that it returned and all that the worker has leased. If it took one of a project or
   * author that now exceeds its share, it has looked for others and found none, so the next claims do not look, unless others
   * came meanwhile.
   */
  recordClaim(claimed: readonly Owners[], leased: readonly Owners[]): void {
    if (this.#claimLimit === null) return;
    const counts = new Map<string, number>();
    for (const execution of leased) for (const owner of ownersOf(execution)) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    const owners = [...new Set(claimed.flatMap(ownersOf))].filter((owner) => (counts.get(owner) ?? 0) > this.#slots);
    const othersCame = this.#newcomers !== null && !areAllIn(this.#newcomers, owners);
    if (owners.length > 0 && !othersCame) this.#noOthersWaiting = { until: performance.now() + noOthersMs, owners };
  }

  /** An execution of these begins to wait. */
  makeRoomFor(newcomer: Owners): void {
    const owners = ownersOf(newcomer);
    this.#newcomers = this.#newcomers?.filter((owner) => owners.includes(owner)) ?? owners;
    if (!areAllIn(owners, this.#noOthersWaiting.owners)) this.#noOthersWaiting = { until: 0, owners: [] };
  }
}

const ownersOf = ({ source, project, author }: Owners): string[] => [
  ...(project ? [`project ${source} ${project}`] : []),
  ...(author ? [`author ${author}`] : []),
];

const areAllIn = (all: readonly string[], some: readonly string[]): boolean => some.every((one) => all.includes(one));
