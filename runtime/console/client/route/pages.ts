interface PageEntry {
  readonly path: string;
  readonly title: string;
  /** The letter to press after `g`. */
  readonly letter: string;
  readonly group: "Work" | "Set up" | "Operate";
}

/** The pages in the navigation, in its order. */
export const pages: readonly PageEntry[] = [
  { path: "now", title: "Now", letter: "n", group: "Work" },
  { path: "issues", title: "Issues", letter: "i", group: "Work" },
  { path: "runs", title: "Runs", letter: "r", group: "Work" },
  { path: "deliveries", title: "Deliveries", letter: "d", group: "Work" },
  { path: "agents", title: "Agents", letter: "a", group: "Set up" },
  { path: "routing", title: "Routing", letter: "o", group: "Set up" },
  { path: "connections", title: "Connections", letter: "c", group: "Set up" },
  { path: "plugins", title: "Plugins", letter: "p", group: "Set up" },
  { path: "memory", title: "Memory", letter: "m", group: "Set up" },
  { path: "cost", title: "Cost", letter: "u", group: "Operate" },
  { path: "settings", title: "Settings", letter: "s", group: "Operate" },
];
