import type { CheckedOnArrival, Origin, ReplayOptions } from "../received-webhook.ts";

/**
 * What is stored of how a deferred webhook arrived, as JSON. Flat, because replicas of earlier versions and `retention/` read the
 * same rows.
 */
interface StoredContext extends Partial<CheckedOnArrival> {
  readonly messageId?: string | null;
  readonly polled?: boolean;
  readonly own?: boolean;
  readonly replayOf?: string;
  readonly replay?: ReplayOptions;
}

interface Context extends CheckedOnArrival {
  readonly origin: Origin;
}

export const writeContext = ({ origin, ...checked }: Context): string =>
  JSON.stringify({ ...flatOrigin(origin), ...checked } satisfies StoredContext);

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
