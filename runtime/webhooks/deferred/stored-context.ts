import type { Origin, ReplayOptions } from "../received-webhook.ts";

/**
 * What is stored of how a deferred webhook arrived, as JSON. Flat, because replicas of earlier versions and `retention/` read the
 * same rows.
 */
interface StoredContext {
  readonly messageId?: string | null;
  readonly polled?: boolean;
  readonly own?: boolean;
  readonly replayOf?: string;
  readonly replay?: ReplayOptions;
  /** Ids of the webhook mappings for which it authenticated on arrival. */
  readonly proven?: readonly number[];
  /** The names under which its body counts as received. */
  readonly scopes?: readonly string[];
}

interface Context {
  readonly origin: Origin;
  readonly proven: readonly number[];
  readonly scopes: readonly string[];
}

export const writeContext = ({ origin, ...proof }: Context): string =>
  JSON.stringify({ ...flatOrigin(origin), ...proof } satisfies StoredContext);

export function readContext(json: string): Context {
  const { proven = [], scopes = [], ...origin } = JSON.parse(json) as StoredContext;
  return { origin: originOf(origin), proven, scopes };
}

function flatOrigin(origin: Origin): StoredContext {
  switch (origin.kind) {
    case "webhook":
      return {};
    case "message":
      return { messageId: origin.messageId };
    case "poll":
      return { polled: true };
    case "own":
      return { own: true };
    case "replay":
      return { replayOf: origin.replayOf, replay: origin.options };
  }
}

function originOf({ messageId, polled, own, replayOf, replay }: StoredContext): Origin {
  if (replayOf !== undefined) return { kind: "replay", replayOf, options: replay ?? { dry_run: false } };
  if (own) return { kind: "own" };
  if (polled) return { kind: "poll" };
  return messageId === undefined ? { kind: "webhook" } : { kind: "message", messageId };
}
