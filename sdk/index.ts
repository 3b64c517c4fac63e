export type * from "./contract.ts";
export { PluginError, type PluginErrorCode, type PluginErrorShape, pluginErrorCodes } from "./errors.ts";
export { fetchOnce } from "./fetch-once.ts";
export { type HttpAnswer, type HttpClient, type HttpRequest, type HttpSettings, httpClient } from "./http-client.ts";
export { errorOfFetch, errorOfStatus, redact, retryAfter } from "./http-errors.ts";
export { inTurn, type Turn } from "./in-turn.ts";
export { hasInvisibleMarker, invisibleMarker, withoutInvisibleMarker } from "./invisible-marker.ts";
export { issueParameters, postedComment } from "./issue-parameters.ts";
export { at, clean, cut, has, textAt, timeAt } from "./json.ts";
export type * from "./knowledge.ts";
export { carriesMarker, mark, markerOf, unmark } from "./marker.ts";
export type * from "./memory.ts";
export { OwnEdits } from "./own-edits.ts";
export { Pace, type PaceOptions, pause } from "./pace.ts";
export { memoryPace, type PaceAccess } from "./pace-access.ts";
export { CONTRACT, definePlugin, PLUGIN, type Plugin, SDK_VERSION, tool } from "./plugin.ts";
export type { CloudEvent, Queue } from "./queue.ts";
export {
  callRoute,
  faultOfAnswer,
  maxRouteBytes,
  type Route,
  type RouteCall,
  type RouteRequest,
  type RouteResponse,
  type RouteScope,
  route,
  routeHeaders,
} from "./route.ts";
export { headerOf, isHmacSha256, isSameSecret } from "./secrets.ts";
export { isTangled } from "./tangled-markdown.ts";
export type * from "./use-case.ts";
export { distanceOf, similarityOf } from "./vector.ts";
export { type Scorer, type WordMatcher, wordMatcher } from "./word-match.ts";
