import { cyclesOf, type Source } from "./source.ts";

/** The files that connect everything: those directly in `runtime/` and the stages of `start/`. */
const composition = "composition";

/**
 * The room of a file: a folder of `runtime/`, or `schema` or `sdk` as a whole. `null` for files outside of the service, and for
 * the plugins, which only the composition root imports.
 */
function roomOf(path: string): string | null {
  const [top = "", folder = "", inner] = path.split("/");
  if (top === "schema" || top === "sdk") return top;
  if (top !== "runtime") return null;
  return inner === undefined || folder === "start" ? composition : folder;
}

/** Package names of rooms, as other rooms import them. */
const packages: Readonly<Record<string, string>> = { "@signalbox/schema": "schema", "@signalbox/sdk": "sdk" };
const packageRoom = (from: string): string | undefined => packages[from.split("/").slice(0, 2).join("/")];

function arrows(sources: readonly Source[]): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>();
  for (const { path, imports } of sources) {
    const room = roomOf(path);
    if (room === null) continue;
    const targets = all.get(room) ?? new Set();
    for (const { from, file } of imports) {
      const target = file === null ? packageRoom(from) : roomOf(file);
      if (target && target !== room) targets.add(target);
    }
    all.set(room, targets);
  }
  return all;
}

/** Cycles between rooms, each as the list of its rooms. Type imports count too, because a reader must follow them as well. */
export const roomCycles = (sources: readonly Source[]): string[] => cyclesOf(arrows(sources));

/** The floor of each room: 0 if it imports no other room, otherwise one above the highest that it imports. */
export function floorsOf(sources: readonly Source[]): Map<string, number> {
  const next = arrows(sources);
  const floors = new Map<string, number>();
  const floorOf = (room: string): number => {
    const known = floors.get(room);
    if (known !== undefined) return known;
    // A cycle ends here; `roomCycles` reports it.
    floors.set(room, 0);
    const below = [...(next.get(room) ?? [])].map(floorOf);
    const floor = below.length === 0 ? 0 : Math.max(...below) + 1;
    floors.set(room, floor);
    return floor;
  };
  for (const room of next.keys()) floorOf(room);
  return floors;
}
