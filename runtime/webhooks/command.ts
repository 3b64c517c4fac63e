import type { EventAuthor, SourceEvent, Subject } from "@signalbox/sdk";
import { databaseTime } from "../platform/clock.ts";
import type { Queryable } from "../platform/database/client.ts";
import { isUuid, timeOfId } from "../platform/ids.ts";
import { isBelow } from "../policy/standing.ts";
import { namesOf, unknownProject } from "../subject-names/subject-key.ts";
import type { NewEvent } from "./arrival.ts";

export const commandNames = ["stop", "retry", "continue", "approve", "reject"] as const;
export type CommandName = (typeof commandNames)[number];

/** A command that people write at the beginning of a comment: `/reject the label is wrong`. */
export interface Command {
  readonly name: CommandName;
  /** The rest of the line after the command. */
  readonly rest: string;
}

/** Where a command was given, and by whom: `alpha:ann`. */
export interface CommandPlace {
  readonly event_id: string;
  /** The names of its subject, as they are stored. */
  readonly subjects: readonly string[];
  readonly by: string;
  readonly reach: Reach;
  /**
   * Time until which what it concerns was created; `null`: now. A command that waited or was polled concerns only what its author can
   * have known.
   */
  readonly before: string | null;
}

/**
 * Path segment of the webhooks whose executions a command can approve, reject, release or restart; `null`: all executions on its
 * issue. Whoever knows the secret of an integration can report any issue and any author, so its webhooks permit only what they
 * started themselves. They can stop everything.
 */
type Reach = string | null;

/** What a command needs of its stored event. */
export interface CommandEvent
  extends Pick<
    NewEvent,
    "id" | "source" | "slug" | "subject" | "actor" | "author" | "comment" | "reason" | "polled" | "occurred_at"
  > {
  /** When it was stored, if the command waited since then. */
  readonly received_at?: string;
}

/** The place of a stored event's command. `alias`: another name of its subject, under which executions may be stored. */
export const commandPlace = (event: CommandEvent, { name }: Pick<Command, "name">, alias: string | null = null): CommandPlace => {
  const { id, source, slug, subject, actor, author, received_at } = event;
  return {
    event_id: id,
    subjects: [...(subject === null ? [] : namesOf(subject)), ...(alias === null ? [] : [alias])],
    // The path of an integration's webhook is its id.
    reach: isUuid(slug) ? slug : null,
    before: name === "stop" ? (received_at ?? null) : knownUntil(event),
    by: `${source}:${author?.name ?? actor ?? "someone"}`,
  };
};

/**
 * How much a person may be ahead of what is stored, in milliseconds: the clocks of platforms and replicas differ, and platforms round
 * times to seconds.
 */
const toleranceMs = 10_000;

/**
 * The time until which its author can have known what a command concerns; `null`: now. A command arrives later than it was written if it
 * was polled, and is read later than it arrived if it waited or its plugin was unavailable. A `/stop` does not depend on it.
 */
function knownUntil({ id, polled, occurred_at, received_at }: CommandEvent): string | null {
  const now = databaseTime();
  const arrivedAt = timeOfId(id) + toleranceMs;
  const writtenAt = polled && occurred_at !== null ? Date.parse(occurred_at) + toleranceMs : arrivedAt;
  const storedAt = received_at === undefined ? now : Date.parse(received_at);
  const until = Math.min(arrivedAt, writtenAt, storedAt);
  return until < now ? new Date(until).toISOString() : null;
}

/** The outcome of a command. */
export interface Effect {
  /** In words; it becomes the reason of the event. */
  readonly summary: string;
  /** Ids of executions that were cancelled. */
  readonly cancelled: readonly string[];
  /** Whether the command had an effect. */
  readonly isDone: boolean;
  /** Whether the webhook of the same comment may carry it out later. */
  readonly mayRepeat: boolean;
}

/** Executes a command in the transaction that stores its event, so that both happen exactly once or not at all. */
export type RunCommand = (tx: Queryable, command: Command, place: CommandPlace) => Promise<Effect>;

/** Maximum length of the text after a command, in characters. */
const maxRestLength = 500;
const pattern = new RegExp(`^\\s*/(${commandNames.join("|")})(?:[^\\S\\n]+([^\\n]*))?\\s*(?:\\n|$)`, "i");

/** The command at the beginning of a comment. */
export function readCommand(comment: string | null | undefined): Command | null {
  const [, name, rest = ""] = pattern.exec((comment ?? "").slice(0, 2_000)) ?? [];
  return name === undefined ? null : { name: name.toLowerCase() as CommandName, rest: rest.trim().slice(0, maxRestLength) };
}

/** The command of an event. Only people can give commands, not bots. */
export function commandOf({ subject, comment_text, author }: SourceEvent): Command | null {
  if (subject === null || author?.kind === "bot" || author?.kind === "app") return null;
  return readCommand(comment_text);
}

/**
 * Why the author may not give this command; `null` if they may. An unknown standing is enough to stop or retry, but not to
 * approve or reject.
 */
export function commandRefusal({ name }: Command, author: EventAuthor | null | undefined): string | null {
  const standing = author?.standing ?? "unknown";
  const authorName = author?.name ?? "the author";
  if (isBelow(standing, "collaborator"))
    return `/${name} requires the standing collaborator or higher, and ${authorName} has the standing ${standing}`;
  if (standing === "unknown" && isDecision(name))
    return `/${name} requires the standing collaborator or higher, and the standing of ${authorName} is unknown`;
  return null;
}

/** Why a command that was sent again is not carried out again. */
export const alreadyCarriedOut = ({ name }: Command, earlier: string): string =>
  `/${name} of this comment was handled before (event ${earlier})`;

const isDecision = (name: CommandName): boolean => name === "approve" || name === "reject";

/** Whether the command waits for its author's standing, which is looked up at the platform. */
export const needsStanding = ({ name }: Command, author: EventAuthor | null | undefined): boolean =>
  author?.standing === "unknown" && isDecision(name);

/** Whether the payload of an event contains only an id of its issue, so that its project or key must be looked up. */
export const needsName = (subject: Subject | null): boolean => subject?.project === unknownProject;

/** Why a command waits for what is looked up at the platform. */
export const waitingForStanding = ({ name }: Command, author: EventAuthor | null | undefined): string =>
  `/${name} waits for the standing of ${author?.name ?? "the author"}, which is being looked up`;
export const waitingForName = ({ name }: Command): string =>
  `/${name} waits for the key or project of its issue, which is being looked up`;

/** The effect of `/stop` on what is stored under the id of an issue, before its name is looked up. */
export const stoppedById = (effect: Effect): Effect => ({
  ...effect,
  summary: `${effect.summary}; its issue is being looked up to stop the rest`,
});

/** Why `/stop` reached only what is stored under the id of an issue. */
export const stoppedByIdOnly = ({ summary }: Effect, reason = "its issue could not be looked up"): string =>
  `${summary}; ${reason}: write it again to stop the rest`;

/** Why a command that waited is not carried out. */
export const notCarriedOut = ({ name }: Command, reason: string): string =>
  `/${name} was not carried out, because ${reason}: write it again`;
