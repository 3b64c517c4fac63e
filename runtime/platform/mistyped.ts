import { nearestName } from "@signalbox/schema/nearest";

/** Groups of variables that the service shares with others. */
const sharedPrefix = /^(?:OTEL|NODE|GRPC|MAX|LOG|API|DATABASE|PLUGIN|PORT|HOST|DATA)_/;

export interface MistypedVariable {
  readonly name: string;
  /** The variable that is probably meant. */
  readonly suggestion: string | null;
}

/**
 * Variables that are probably misspelled: unknown ones with a prefix of ours (`ALPHA_TOKN`), and those one typing error away from
 * ours.
 */
export function mistypedIn(names: Iterable<string>, known: readonly string[]): MistypedVariable[] {
  const groups = new Set(known.flatMap((name) => (sharedPrefix.test(name) ? [] : (/^[A-Z]+_/.exec(name)?.[0] ?? []))));
  return [...names].flatMap((name) => {
    if (known.includes(name) || /__/.test(name) || name.length > 100) return [];
    const suggestion = nearestName(name, known);
    const group = /^[A-Z]+_/.exec(name)?.[0] ?? "";
    // Names of other programs may resemble ours: `HOSTNAME`, `PORTAL_URL`.
    const isClose = suggestion !== null && nearestName(name.slice(0, 6), [suggestion.slice(0, 6)]) !== null && /_/.test(name);
    return groups.has(group) || isClose ? [{ name, suggestion }] : [];
  });
}
