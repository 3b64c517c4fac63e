import committed from "../../../schema/field-numbers.json" with { type: "json" };
import type { NumberedName } from "./model.ts";

/**
 * `schema/field-numbers.json`: the number of each field and enum value on the wire. It is append-only: a number belongs to
 * its name forever, even after the member was removed from the schema (then the number is `reserved`).
 */
export interface FieldNumbers {
  /** Full message name → field name → number. */
  readonly messages: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Full enum name → value name → number. */
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export const fieldNumbers: FieldNumbers = committed;

export interface Numbers {
  /** The numbers of `names` in `owner`, in that order, and the reserved numbers of removed names. */
  of(
    kind: keyof FieldNumbers,
    owner: string,
    names: readonly string[],
  ): { numberedNames: NumberedName[]; reserved: NumberedName[] };
}

/** The committed numbers. A name without a number is an error, because a number assigned at run time could change later. */
export const lockedNumbers = (lock: FieldNumbers): Numbers => ({
  of(kind, owner, names) {
    const known = lock[kind][owner] ?? {};
    for (const name of names)
      if (!Object.hasOwn(known, name))
        throw new Error(
          `schema/field-numbers.json: ${owner} has no number for ${name}. Run \`npm run generate\` and commit the result.`,
        );
    return split(known, names);
  },
});

/** Numbers for the generator: the committed ones, and the next free one for each new name. `allNumbers()` returns all of them. */
export function growingNumbers(lock: FieldNumbers): Numbers & { allNumbers(): FieldNumbers } {
  const all = { messages: copy(lock.messages), enums: copy(lock.enums) };
  return {
    of(kind, owner, names) {
      all[kind][owner] ??= {};
      const known = all[kind][owner];
      for (const name of names) if (!Object.hasOwn(known, name)) known[name] = nextFree(known);
      return split(known, names);
    },
    allNumbers: () => ({ messages: sortOwners(all.messages), enums: sortOwners(all.enums) }),
  };
}

function split(known: Readonly<Record<string, number>>, names: readonly string[]) {
  const numberedNames = names.map((name) => ({ name, number: known[name] as number }));
  const reserved = Object.entries(known)
    .filter(([name]) => !names.includes(name))
    .map(([name, number]) => ({ name, number }));
  return { numberedNames, reserved };
}

/** 19,000 to 19,999 belong to the protobuf implementation. */
function nextFree(known: Readonly<Record<string, number>>): number {
  const next = Math.max(0, ...Object.values(known)) + 1;
  return next >= 19_000 && next <= 19_999 ? 20_000 : next;
}

const copy = (owners: FieldNumbers["messages"]): Record<string, Record<string, number>> =>
  Object.fromEntries(Object.entries(owners).map(([owner, names]) => [owner, { ...names }]));
const sortOwners = (owners: Record<string, Record<string, number>>): Record<string, Record<string, number>> =>
  Object.fromEntries(Object.entries(owners).sort(([a], [b]) => (a < b ? -1 : 1)));
