import { ifCode, type OperationsAccess } from "@signalbox/sdk";

export type Row = Readonly<Record<string, unknown>> & { readonly id: string | number };

/** An object that the use case creates at the host. It is looked up before it is created. */
export interface Piece {
  /** Noun of the operations: `<noun>.create`, `.delete`, `.list`. */
  readonly noun: string;
  readonly row: Readonly<Record<string, unknown>>;
  /** Members that identify it: its id if we choose it, otherwise other members. */
  readonly known: readonly string[];
}

export const piecesOf = (project: string): Piece[] => [
  {
    noun: "projects",
    known: ["source", "source_project_id"],
    row: { name: "Bug triage", description: "Created by the use case bug-triage.", source: "alpha", source_project_id: project },
  },
  {
    noun: "agents",
    known: ["id"],
    row: {
      id: "bug_triager",
      name: "Bug triager",
      role_id: "qa",
      prompt:
        "You triage bug reports: describe how to reproduce the bug, name what is missing, rate the severity, and ask for what you need.",
      constraints: ["Never promise a date."],
    },
  },
  {
    noun: "tasks",
    known: ["id"],
    row: {
      id: "bug_triage",
      name: "Triage a bug report",
      description: "Summarise the report, rate its severity, and list what is missing to reproduce it.",
      actor_id: "bug_triager",
    },
  },
  {
    noun: "triggers",
    known: ["canonical_trigger", "task_id"],
    row: { canonical_trigger: "bug_triage.opened", task_id: "bug_triage" },
  },
  {
    noun: "webhook-mappings",
    known: ["source", "event_type", "canonical_trigger"],
    row: {
      source: "alpha",
      event_type: "issues.opened",
      canonical_trigger: "bug_triage.opened",
      jq_filter: `(.repository.full_name | ascii_downcase) == (${JSON.stringify(project)} | ascii_downcase)`,
    },
  },
];

/** Reads an object from the host. */
export async function find(operations: OperationsAccess, { noun, row, known }: Piece): Promise<Row | undefined> {
  for (let offset = 0; ; offset += 1000) {
    const page = await operations.call(`${noun}.list`, { limit: 1000, offset });
    const { items, total } = page as unknown as { items: readonly Row[]; total: number };
    const found = items.find((one) => known.every((name) => one[name] === row[name]));
    if (found || offset + items.length >= total || items.length === 0) return found;
  }
}

/** Creates the object unless an earlier setup did. */
export async function make(operations: OperationsAccess, piece: Piece): Promise<Row> {
  const { noun, row } = piece;
  if (typeof row.id !== "string")
    return (await find(operations, piece)) ?? ((await operations.call(`${noun}.create`, row)) as unknown as Row);
  const created = await operations.call(`${noun}.create`, row).catch(ifCode("conflict", null));
  return created === null ? { ...row, id: row.id } : (created as unknown as Row);
}

/** Returns `false` if it did not exist. */
export async function unmake(operations: OperationsAccess, piece: Piece): Promise<boolean> {
  const id = typeof piece.row.id === "string" ? piece.row.id : (await find(operations, piece))?.id;
  if (id === undefined) return false;
  return operations.call(`${piece.noun}.delete`, { id }).then(() => true, ifCode("not_found", false));
}
