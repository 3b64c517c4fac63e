import {
  type Capabilities,
  type Json,
  PluginError,
  type Route,
  type RouteResponse,
  route,
  stringAt,
  valueAt,
} from "@signalbox/sdk";
import { z } from "zod";
import type { Slack } from "./client.ts";
import type { Config } from "./config.ts";
import { type Action, actionNamed } from "./messages.ts";
import { refusalOf } from "./verify.ts";

type Needs = Pick<Capabilities, "operations" | "secret" | "log">;
/** What a person decided. */
interface Decision {
  readonly action: Action;
  readonly execution: string;
  readonly proposals?: readonly string[] | undefined;
}
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const value = z.object({ execution: z.string().regex(uuid), proposals: z.array(z.string().regex(uuid)).max(20).optional() });
const ok = (body: Json = {}): RouteResponse => ({ status: 200, body });
const usage = "Usage: `/signalbox stop <id of a run>`. Also approve, reject and release.";

/** Handles Slack's requests: buttons, the slash command, and the URL verification. Each is answered within three seconds. */
export function actionsRoute(slackOf: () => Promise<Slack>, needs: Needs, config: Config): Route {
  return route({
    about: "Receives button clicks and commands from Slack and verifies their signatures.",
    method: "POST",
    scope: "open",
    raw: true,
    run: async ({ headers, body, bytes = new Uint8Array() }, { signal }) => {
      const secret = await needs.secret("signing_secret");
      if (!secret)
        throw new PluginError("not_configured", "set the secret signing_secret: requests of Slack cannot be verified without it");
      const refusal = refusalOf(headers, bytes, secret);
      if (refusal !== null) return { status: 401, body: { error: refusal } };
      const challenge = valueAt(body, "type") === "url_verification" ? stringAt(body, ["challenge"], 500) : null;
      if (challenge !== null) return ok({ challenge });
      const form = new URLSearchParams(new TextDecoder().decode(bytes));
      const payload = parseJson(form.get("payload"));
      if (payload !== null) return handleButton(await slackOf(), needs, config, payload, signal);
      if (form.has("command")) return handleCommand(needs, config, form);
      return { status: 400, body: { error: "the body must be a form with payload or command" } };
    },
  });
}

function parseJson(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    throw new PluginError("invalid_input", "payload must be JSON");
  }
}

/** Handles a button of one of our messages. The outcome replaces the buttons for everyone in the channel. */
async function handleButton(
  slack: Slack,
  needs: Needs,
  config: Config,
  payload: unknown,
  signal: AbortSignal,
): Promise<RouteResponse> {
  const actions = valueAt(payload, "actions");
  const pressedAction: unknown = Array.isArray(actions) ? actions[0] : undefined;
  const action = actionNamed(stringAt(pressedAction, ["action_id"], 100) ?? "");
  const user = stringAt(payload, ["user", "id"], 100);
  const result = value.safeParse(parseJson(stringAt(pressedAction, ["value"], 2000)));
  if (valueAt(payload, "type") !== "block_actions" || action === null || user === null || !result.success) return ok();
  const [channel, ts] = [stringAt(payload, ["channel", "id"], 100), stringAt(payload, ["message", "ts"], 100)];
  const decision = await decide(needs, config, user, { action, ...result.data });
  try {
    if (channel === null || ts === null) return ok();
    if (!decision.done) {
      const answer = { channel, user, text: decision.text };
      await slack.write("chat.postEphemeral", answer, z.looseObject({}), signal);
    } else {
      const before = valueAt(payload, "message", "blocks");
      const otherBlocks = (Array.isArray(before) ? before : []).filter((block) => valueAt(block, "type") !== "actions");
      const blocks = [...otherBlocks, { type: "context", elements: [{ type: "mrkdwn", text: decision.text }] }];
      await slack.write("chat.update", { channel, ts, text: decision.text, blocks }, z.looseObject({}), signal);
    }
  } catch (error) {
    // The decision holds, whether or not the channel shows it.
    needs.log("failed to show a decision in the channel", { error: String(error) });
  }
  return ok();
}

/** The slash command: what it answers is shown to its sender alone. */
async function handleCommand(needs: Needs, config: Config, form: URLSearchParams): Promise<RouteResponse> {
  const [word = "", execution = ""] = (form.get("text") ?? "").trim().split(/\s+/);
  const action = actionNamed(`signalbox_${word.toLowerCase().replace(/^\//, "")}`);
  const user = form.get("user_id");
  const ephemeral = (text: string) => ok({ response_type: "ephemeral", text });
  if (action === null || !user || !uuid.test(execution)) return ephemeral(usage);
  return ephemeral((await decide(needs, config, user, { action, execution })).text);
}

const operationsOf: Readonly<Record<Action, string>> = {
  approve: "task-executions.approve",
  reject: "task-executions.reject",
  stop: "task-executions.cancel",
  release: "task-executions.release",
};
const past: Readonly<Record<Action, string>> = { approve: "Approved", reject: "Rejected", stop: "Stopped", release: "Released" };

/** Carries out a decision for a person that the settings name. */
async function decide({ operations, log }: Needs, { approvers }: Config, user: string, decision: Decision) {
  const { action, execution, proposals } = decision;
  if (!approvers.includes(user)) {
    log("refused: the user is not among the approvers", { user, action });
    return {
      done: false,
      text: `<@${user}> is not allowed to decide this: an operator must add ${user} to the setting approvers.`,
    };
  }
  const more =
    action === "approve" && proposals ? { proposals } : action === "reject" ? { reason: `rejected in Slack by ${user}` } : {};
  try {
    await operations.call(operationsOf[action], { id: execution, ...more }, { on_behalf_of: user });
    log("decided", { user, action, execution });
    return { done: true, text: `${past[action]} by <@${user}>` };
  } catch (error) {
    const { code, message } = error as Partial<PluginError>;
    if (code === "conflict" || code === "not_found" || code === "invalid_input") return { done: false, text: `${message}` };
    throw error;
  }
}
