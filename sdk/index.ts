export type * from "./account-report.ts";
export { backgroundsOf, showsWhiteText } from "./backgrounds.ts";
export type * from "./contract.ts";
export { cutMarkdown, openFence } from "./cut-markdown.ts";
export { ifCode, PluginError, type PluginErrorCode, type PluginErrorShape, pluginErrorCodes } from "./errors.ts";
export { type EventText, factList, joinedText, oneLine, plainLine, sections } from "./event-text.ts";
export { fetchOnce } from "./fetch-once.ts";
export { isHiddenElement, isUnseenColour } from "./hidden-elements.ts";
export { type HttpClient, type HttpClientOptions, type HttpRequest, type HttpResponse, httpClient } from "./http-client.ts";
export { fetchError, rateLimitOf, redact, redirectError, retryAfterMs, statusError } from "./http-errors.ts";
export { IncomingBacklog, maxIncomingBytes } from "./incoming-backlog.ts";
export { issueParameters, postedComment } from "./issue-parameters.ts";
export { hasMember, sanitizeText, stringAt, timestampAt, truncate, valueAt } from "./json.ts";
export type * from "./knowledge.ts";
export {
  addMarker,
  hasInvisibleMarker,
  hasMarker,
  invisibleMarker,
  markerDigest,
  markersIn,
  readMarker,
  stripInvisibleMarker,
  stripMarker,
} from "./marker.ts";
export type * from "./memory.ts";
export type { Offload, OffloadedFunctions } from "./offload.ts";
export { parseAnswer } from "./parse-answer.ts";
export { isPlaceholder } from "./placeholders.ts";
export { plainMarkdown, plainNote, textOfMarkup } from "./plain-markdown.ts";
export { CONTRACT_VERSION, definePlugin, PLUGIN_BRAND, type Plugin, SDK_VERSION, tool } from "./plugin.ts";
export type {
  CloudEvent,
  ForwardingQueue,
  IncomingOutcome,
  IncomingWebhook,
  Queue,
  RefusedMessage,
  WebhookFeed,
} from "./queue.ts";
export { isUnmarked, itemOrNull, readableItems, timeText } from "./readable-items.ts";
export { rememberLatest } from "./remember-latest.ts";
export { checkHeaders, encodeForUrl } from "./request-parts.ts";
export {
  allowedRouteHeaders,
  callRoute,
  maxRouteResponseBytes,
  type Route,
  type RouteContext,
  type RouteRequest,
  type RouteResponse,
  type RouteScope,
  route,
  routeResponseError,
} from "./route.ts";
export { equalSecrets, firstHeader, isValidHmacSha256 } from "./secrets.ts";
export { inMemoryThrottle, type SharedThrottle } from "./shared-throttle.ts";
export { shortId } from "./short-id.ts";
export type * from "./source.ts";
export type * from "./source-event.ts";
export type * from "./tcp.ts";
export { sleep, Throttle, type ThrottleOptions } from "./throttle.ts";
export { type ThrottledRequest, throttled } from "./throttled.ts";
export type * from "./tool.ts";
export { isSameUrl } from "./urls.ts";
export type * from "./use-case.ts";
export { similarityFromDistance, vectorDistance } from "./vector.ts";
export { type Scorer, type WordMatcher, wordMatcher } from "./word-match.ts";
export { writeShorter } from "./write-shorter.ts";
