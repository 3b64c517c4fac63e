export interface Comment {
  readonly id: number;
  body: string;
  readonly login: string;
  readonly createdAt: string;
  updatedAt: string;
}

export interface Issue {
  readonly id: number;
  readonly number: number;
  title: string;
  body: string | null;
  state: "open" | "closed";
  stateReason: "completed" | "not_planned" | "reopened" | null;
  labels: string[];
  locked: boolean;
  readonly login: string;
  readonly pullRequest: boolean;
  readonly createdAt: string;
  updatedAt: string;
  closedAt: string | null;
  readonly comments: Comment[];
}

export interface Label {
  readonly id: number;
  readonly name: string;
  readonly color: string;
  readonly description: string | null;
}

export interface Repository {
  readonly id: number;
  readonly owner: string;
  readonly name: string;
  readonly createdAt: string;
  readonly issues: Map<number, Issue>;
  readonly labels: Map<string, Label>;
}

export interface NewIssue {
  /** `owner/name`; created if it does not exist. */
  readonly repo: string;
  /** Default: the next free number. */
  readonly number?: number;
  readonly title: string;
  readonly body?: string | null;
  readonly state?: "open" | "closed";
  readonly labels?: readonly string[];
  /** Its author. */
  readonly login?: string;
  readonly locked?: boolean;
  readonly pullRequest?: boolean;
  readonly createdAt?: string;
}

/** The state of the tracker. Names of repositories and labels are case-insensitive, as on the platform. */
export class TrackerStore {
  readonly #repos = new Map<string, Repository>();
  readonly #autoCreate: boolean;
  #lastId = 2_000_000_000;

  constructor(options: { autoCreate: boolean }) {
    this.#autoCreate = options.autoCreate;
  }

  repository(owner: string, name: string): Repository | null {
    return this.#repos.get(`${owner}/${name}`.toLowerCase()) ?? (this.#autoCreate ? this.#make(owner, name) : null);
  }

  /** Returns the repository `owner/name`; creates it if it does not exist. */
  ensure(fullName: string): Repository {
    const [owner, name, rest] = fullName.split("/");
    if (!owner || !name || rest !== undefined) throw new TypeError(`repo: must be owner/name; it is "${fullName}"`);
    return this.#repos.get(fullName.toLowerCase()) ?? this.#make(owner, name);
  }

  issue(repo: Repository, number: number): Issue | null {
    const knownIssue = repo.issues.get(number);
    if (knownIssue || !this.#autoCreate) return knownIssue ?? null;
    return this.createIssue({ repo: `${repo.owner}/${repo.name}`, number, title: `Issue ${number}` });
  }

  createIssue(fields: NewIssue): Issue {
    const repo = this.ensure(fields.repo);
    const at = fields.createdAt ?? now();
    const number = fields.number ?? nextNumber(repo);
    if (repo.issues.has(number)) throw new Error(`${fields.repo}#${number} exists`);
    const issue: Issue = {
      id: ++this.#lastId,
      number,
      title: fields.title,
      body: fields.body ?? null,
      state: fields.state ?? "open",
      stateReason: null,
      labels: [...(fields.labels ?? [])],
      locked: fields.locked ?? false,
      login: fields.login ?? repo.owner,
      pullRequest: fields.pullRequest ?? false,
      createdAt: at,
      updatedAt: at,
      closedAt: fields.state === "closed" ? at : null,
      comments: [],
    };
    repo.issues.set(number, issue);
    return issue;
  }

  addComment(issue: Issue, body: string, login: string): Comment {
    const at = now();
    const comment: Comment = { id: ++this.#lastId, body, login, createdAt: at, updatedAt: at };
    issue.comments.push(comment);
    issue.updatedAt = at;
    return comment;
  }

  /** Returns `null` if a label of that name exists. */
  addLabel(repo: Repository, name: string, color: string, description: string | null): Label | null {
    if (repo.labels.has(name.toLowerCase())) return null;
    const label = { id: ++this.#lastId, name, color: color.toLowerCase(), description };
    repo.labels.set(name.toLowerCase(), label);
    return label;
  }

  #make(owner: string, name: string): Repository {
    const repo: Repository = { id: ++this.#lastId, owner, name, createdAt: now(), issues: new Map(), labels: new Map() };
    this.#repos.set(`${owner}/${name}`.toLowerCase(), repo);
    return repo;
  }
}

/** The current time, in whole seconds as on the platform. */
export const now = (): string => `${new Date().toISOString().slice(0, 19)}Z`;

/** A loop, because spreading very many items overflows the stack. */
function nextNumber(repo: Repository): number {
  let last = 0;
  for (const number of repo.issues.keys()) last = Math.max(last, number);
  return last + 1;
}
