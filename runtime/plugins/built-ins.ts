/** The built-in plugins. The worker threads also load them from here. */
export const builtIns = {
  alpha: () => import("@signalbox/plugin-alpha"),
  beta: () => import("@signalbox/plugin-beta"),
  gamma: () => import("@signalbox/plugin-gamma"),
  delta: () => import("@signalbox/plugin-delta"),
  "memory-pgvector": () => import("@signalbox/plugin-memory-pgvector"),
  "memory-redis": () => import("@signalbox/plugin-memory-redis"),
  "queue-redis": () => import("@signalbox/plugin-queue-redis"),
  "module-update": () => import("@signalbox/plugin-module-update"),
  wiki: () => import("@signalbox/plugin-wiki"),
};
