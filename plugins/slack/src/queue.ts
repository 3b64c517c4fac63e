import {
  type Capabilities,
  type CloudEvent,
  type ForwardingQueue,
  ifCode,
  PluginError,
  type RefusedMessage,
  valueAt,
} from "@signalbox/sdk";
import { z } from "zod";
import type { Slack } from "./client.ts";
import type { Config } from "./config.ts";
import {
  digestOf,
  executionOf,
  isPrivate,
  type Kind,
  kindOf,
  lineOf,
  type Message,
  messageOf,
  noProposals,
  proposalsIn,
} from "./messages.ts";

/** Event type of our metadata. Other applications do not use it, and only messages with it are read back. */
const eventType = "signalbox_executions";
/** Maximum time that one call spends on posting; the host passes the remaining messages again. Milliseconds. */
const maxWaitMs = 20_000;
const perDigest = 20;
const maxKnown = 10_000;
const messageShape = z.looseObject({ ts: z.string() });
const history = z.looseObject({
  messages: z.array(z.looseObject({ ts: z.string(), metadata: z.unknown() })),
  has_more: z.boolean().nullish(),
  response_metadata: z.looseObject({ next_cursor: z.string().nullish() }).nullish(),
});

interface Post {
  readonly ids: readonly string[];
  readonly message: () => Promise<Message>;
}
type Needs = Pick<Capabilities, "operations" | "log">;

/**
 * Posts the messages of a queue to a channel. Slack does not recognise repeated messages. The metadata of each message
 * contains the ids of the events that it reports. Before posting, the channel's history since the oldest of them is searched
 * for these ids.
 */
export function channelQueue(slackOf: () => Promise<Slack>, { operations, log }: Needs, config: Config): ForwardingQueue {
  const postedIds = new Set<string>();
  const remember = (ids: readonly string[]) => {
    if (postedIds.size > maxKnown) postedIds.clear();
    for (const id of ids) postedIds.add(id);
  };
  /** `null` if it was deleted, or if the operator has not granted the plugin this operation. */
  const read = (id: string): Promise<unknown> =>
    operations.call("task-executions.get", { id }).catch((error) => {
      if ((error as PluginError).retryable) throw error;
      log("failed to read the proposals of an execution; its message shows none", { id, error: String(error) });
      return null;
    });
  return {
    about: "Posts waiting, held and finished executions to a Slack channel.",
    publish: async (messages) => {
      if (config.channel === "") return;
      const wanted = messages.filter((message) => isWanted(message, config) && !postedIds.has(message.id));
      if (wanted.length === 0) return;
      const until = Date.now() + maxWaitMs;
      const signal = AbortSignal.timeout(maxWaitMs + 5_000);
      const slack = await slackOf();
      remember(await idsSince(slack, config.channel, oldestOf(wanted), signal));
      const refused: RefusedMessage[] = [];
      const left = wanted.filter(({ id }) => !postedIds.has(id));
      for (const { ids, message } of postsOf(left, config, read)) {
        if (Date.now() > until)
          throw new PluginError("unavailable", "Slack accepts one message per second; the others are posted next");
        const metadata = { event_type: eventType, event_payload: { ids: ids.join(",") } };
        const { text, blocks } = await message();
        const post = (content: Partial<Message>) => {
          const body = { channel: config.channel, ...content, metadata, unfurl_links: false, unfurl_media: false };
          return slack.write("chat.postMessage", body, messageShape, signal);
        };
        const posted = await post({ text, blocks }).catch(ifCode("invalid_input", null));
        // Slack refuses its blocks.
        const refusal = posted === null ? await post({ text }).then(() => null, refusalOf) : null;
        if (refusal === null) remember(ids);
        else refused.push(...ids.map((id) => ({ id, reason: refusal })));
      }
      log("posted to the channel", { executions: left.length - refused.length });
      return refused;
    },
  };
}

/** Why Slack refuses a message, also without its blocks. */
function refusalOf(error: PluginError): string {
  if (error.code !== "invalid_input") throw error;
  return error.message;
}

const isWanted = (message: CloudEvent, { notify }: Config): boolean => {
  const kind = kindOf(message);
  return kind !== null && notify.includes(kind);
};

/**
 * Seconds since 1970, a minute before the oldest message, because clocks differ. Messages older than the relay keeps are not
 * searched.
 */
function oldestOf(messages: readonly CloudEvent[]): number {
  const times = messages.map(({ time }) => Date.parse(time)).filter((time) => !Number.isNaN(time));
  return Math.floor(Math.min(Date.now(), ...times) / 1000) - 60;
}

async function idsSince(slack: Slack, channel: string, oldest: number, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  let cursor = "";
  do {
    const query = { channel, oldest, limit: 200, include_all_metadata: "true", ...(cursor && { cursor }) };
    const page = await slack.read("conversations.history", query, history, signal);
    for (const { metadata } of page.messages) {
      const eventIds = valueAt(metadata, "event_payload", "ids");
      if (valueAt(metadata, "event_type") === eventType && typeof eventIds === "string") ids.push(...eventIds.split(","));
    }
    cursor = page.response_metadata?.next_cursor ?? "";
  } while (cursor !== "");
  return ids;
}

/** Successful executions are posted together, so that a busy hour does not fill the channel. */
function* postsOf(messages: readonly CloudEvent[], config: Config, read: (id: string) => Promise<unknown>): Generator<Post> {
  const quiet: [CloudEvent, Kind][] = [];
  for (const event of messages) {
    const kind = kindOf(event);
    if (kind === null) continue;
    if (kind === "succeeded" || kind === "cancelled") {
      quiet.push([event, kind]);
      continue;
    }
    const message = async () => {
      const execution = kind === "waiting" && !isPrivate(event) ? executionOf(event) : null;
      return messageOf(event, kind, config, execution === null ? noProposals : proposalsIn(await read(execution)));
    };
    yield { ids: [event.id], message };
  }
  for (let at = 0; at < quiet.length; at += perDigest) {
    const part = quiet.slice(at, at + perDigest);
    const message = async () => digestOf(part.map(([event, kind]) => lineOf(event, kind, config)));
    yield { ids: part.map(([{ id }]) => id), message };
  }
}
