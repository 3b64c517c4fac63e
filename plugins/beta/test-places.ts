import type { FakeResponse, RecordedRequest } from "@signalbox/sdk/testing";

interface Placed {
  readonly id: number;
  /** Path of the list that the note is in, below `/api/v4/`. */
  readonly at: string;
  readonly body: string;
  readonly [member: string]: unknown;
}

const thread = /^((?:projects|groups)\/[^/]+\/(?:issues|merge_requests|snippets|epics)\/\d+)\/discussions\/([0-9a-f]+)\/notes$/;
const commits = /^(projects\/[^/]+\/repository\/commits\/[0-9a-f]+\/discussions)(?:\/([0-9a-f]+)\/notes(?:\/(\d+))?)?$/;
const notes = /^((?:projects|groups)\/[^/]+\/(?:issues|merge_requests|snippets|epics)\/\d+\/notes)(?:\/(\d+))?$/;

/** Notes outside the issues and merge requests of one project: in threads, on commits, snippets and epics. */
export class PlacedNotes {
  readonly all: Placed[] = [];

  route({ method, path, body }: RecordedRequest): FakeResponse | null {
    const below = path.slice("/api/v4/".length);
    const epic = /^groups\/[^/]+\/epics\/(\d+)$/.exec(below)?.[1];
    if (epic !== undefined) return { status: 200, body: { id: 9_000 + Number(epic), iid: Number(epic) } };
    const [, item, discussion] = thread.exec(below) ?? [];
    if (item !== undefined) return this.#add(`${item}/discussions/${discussion}`, body as object);
    const commit = commits.exec(below);
    if (commit) return this.#commit(method, commit, body as object);
    const [, list, id] = notes.exec(below) ?? [];
    if (list === undefined) return null;
    if (method === "DELETE") return this.#delete(Number(id));
    if (method === "GET") return { status: 200, body: this.all.filter(({ at }) => isIn(at, list)) };
    return this.#add(list, body as object);
  }

  /** A note of a commit is in a thread, of its own if it answers none. */
  #commit(method: string, [, list = "", discussion, id]: readonly (string | undefined)[], body: object): FakeResponse {
    if (method === "DELETE") return this.#delete(Number(id));
    if (method === "POST" && discussion !== undefined) return this.#add(`${list}/${discussion}`, body);
    const shown = (found: readonly Placed[]) =>
      [
        ...Map.groupBy(found, ({ at, id }) => (at === list ? id.toString(16).padStart(8, "0") : (at.split("/").at(-1) ?? ""))),
      ].map(([id, notes]) => ({ id, notes }));
    if (method === "GET") return { status: 200, body: shown(this.all.filter(({ at }) => at.startsWith(list))) };
    const made = this.#add(list, body);
    return { ...made, body: shown([made.body as Placed])[0] };
  }

  #add(at: string, content: object): FakeResponse {
    const made = { id: 7_000 + this.all.length, at, ...content } as unknown as Placed;
    this.all.push(made);
    return { status: 201, body: made, wrote: true };
  }

  #delete(id: number): FakeResponse {
    const found = this.all.findIndex((note) => note.id === id);
    if (found < 0) return { status: 404, body: { message: "404 Not Found" } };
    this.all.splice(found, 1);
    return { status: 204, wrote: true };
  }
}

/** The list of an item's notes has those of its threads too. */
const isIn = (at: string, list: string): boolean => at === list || at.startsWith(list.replace(/notes$/, "discussions/"));
