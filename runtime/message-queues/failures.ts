import { unavailableCause } from "../platform/database/unavailable.ts";
import { causeOf } from "../platform/error-text.ts";

/** An operation of a plugin's queue failed: the message bus, or the process of the plugin. */
class QueueFailed extends Error {}
/** A plugin's queue refuses every message. */
export class QueueRefuses extends Error {}
/** A webhook from a queue could not be stored. */
export class WebhookFailed extends Error {}

/** Marks the failures of a queue, so that its check does not blame the queue for those of the service. */
export const ofQueue = <T>(operation: Promise<T>): Promise<T> =>
  operation.catch((error: unknown) => {
    throw new QueueFailed(causeOf(error), { cause: error });
  });

const databaseFailed = (error: unknown): string | null => {
  const cause = unavailableCause(error);
  return cause === null ? null : `Signalbox's own database failed: ${sentence(cause)}`;
};

/** Why no messages are published, and where they wait. */
export function publishFailure(error: unknown): string {
  if (error instanceof QueueFailed) return `publishing failed: ${sentence(error)}; its messages wait in the database`;
  if (error instanceof QueueRefuses) return `the queue refuses every message: ${sentence(error)}; they wait in the database`;
  return `nothing is published, because ${databaseFailed(error) ?? sentence(error)}; its messages wait in the database`;
}

/** Why no webhooks are received, and where they wait. */
export function intakeFailure(error: unknown): string {
  if (error instanceof QueueFailed) return `receiving webhooks failed: ${sentence(error)}; they wait in the queue`;
  const failed = databaseFailed(error);
  if (failed !== null) return `webhooks are not stored, because ${failed}; they wait in the queue`;
  if (error instanceof WebhookFailed) return `a webhook could not be stored: ${sentence(error)}; the queue delivers it again`;
  return `webhooks are not received, because Signalbox failed: ${sentence(error)}; they wait in the queue`;
}

const sentence = (error: unknown): string => causeOf(error).replace(/\.$/, "");
