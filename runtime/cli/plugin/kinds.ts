import type { Contributions } from "@signalbox/sdk";

/** The kinds of plugins. Each has a template with the same name. */
export const kinds = {
  tools: "functions that agents call",
  sources: "a tracker: receives its webhooks, posts comments",
  memories: "a store of memories",
  knowledge: "documents that agents search",
  useCases: "a demonstration that sets up its own project",
  queues: "a message queue for events and finished executions",
  routes: "HTTP routes, at /plugins/<id>",
} as const satisfies Record<keyof Omit<Contributions, "dispose">, string>;

/** One line about each kind. */
export const listOfKinds = (): string => {
  const wide = Math.max(...Object.keys(kinds).map((kind) => kind.length));
  return Object.entries(kinds)
    .map(([kind, about]) => `  ${kind.padEnd(wide)}  ${about}\n`)
    .join("");
};
