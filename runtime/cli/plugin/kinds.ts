import type { Contributions } from "@signalbox/sdk";

/** The kinds of plugins; each has a template of its name. */
export const kinds = {
  tools: "what agents may call",
  sources: "a tracker: its webhooks come in, comments go out",
  memories: "a store of memories",
  knowledge: "documents that agents search",
  useCases: "a demonstration that sets itself up",
  queues: "a message queue of what happened",
  routes: "HTTP routes of its own, at /plugins/<id>",
} as const satisfies Record<keyof Omit<Contributions, "dispose">, string>;

/** One line for each kind. */
export const listOfKinds = (): string => {
  const wide = Math.max(...Object.keys(kinds).map((kind) => kind.length));
  return Object.entries(kinds)
    .map(([kind, about]) => `  ${kind.padEnd(wide)}  ${about}\n`)
    .join("");
};
