export type * from "./contract.ts";
export { PluginError, type PluginErrorCode, type PluginErrorShape } from "./errors.ts";
export { fetchOnce } from "./fetch-once.ts";
export { carriesMarker, mark, markerOf, unmark } from "./marker.ts";
export type * from "./memory.ts";
export { CONTRACT, definePlugin, PLUGIN, type Plugin, SDK_VERSION, tool } from "./plugin.ts";
export { distanceOf, similarityOf } from "./vector.ts";
