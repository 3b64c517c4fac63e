import { type HttpClient, isSameUrl, PluginError, type WantedWebhook, type WebhookReport } from "@signalbox/sdk";
import { projectKeyOf } from "./address.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

/** Path of the administrators' webhooks: on Cloud and Server up to version 9, and on Data Center from version 10. */
const lists = ["/webhooks/1.0/webhook", "/jira-webhook/1.0/webhooks"] as const;
type List = (typeof lists)[number];

const all = (thing: string, ...verbs: readonly string[]) => verbs.map((verb) => `${thing}_${verb}`);
/** Events that a webhook can deliver, in the platform's names. */
const deliverable = new Set([
  ...all("jira:issue", "created", "updated", "deleted"),
  ...["comment", "worklog"].flatMap((thing) => all(thing, "created", "updated", "deleted")),
  ...["issuelink", "attachment"].flatMap((thing) => all(thing, "created", "deleted")),
  ...all("project", "created", "updated", "deleted", "soft_deleted", "restored_deleted", "archived", "restored_archived"),
  ...all("jira:version", "released", "unreleased", "created", "moved", "updated", "deleted"),
  ...all("user", "created", "updated", "deleted"),
  ...all("sprint", "created", "updated", "deleted", "started", "closed"),
  ...all("board", "created", "updated", "deleted", "configuration_changed"),
]);

/** A webhook as either list shows it. */
interface Hook {
  readonly id: string;
  readonly url: string;
  readonly active: boolean;
  readonly events: readonly string[];
  readonly hasBody: boolean;
  /** What an update has to repeat. */
  readonly shown: Readonly<Record<string, unknown>>;
}

/**
 * Compares the webhook of the site with the events that the mappings need; see `Source.checkWebhook`. `client`: for `/rest` of
 * the site.
 */
export async function checkWebhook(
  client: HttpClient,
  { project, url, events, apply }: WantedWebhook,
  connection: Settings,
  signal: AbortSignal,
): Promise<WebhookReport> {
  // A mapping may contain the event and the action in one name: "gamma:issue_updated.issue_generic".
  const names = [...new Set(events.map(({ event_name }) => (event_name.split(".")[0] ?? "").replace(/^gamma:/, "jira:")))].sort();
  const unknownEvents = names.filter((name) => !deliverable.has(name));
  const knownEvents = names.filter((name) => deliverable.has(name));
  const { list, hooks } = await readHooks(client, signal);
  const [hook, ...others] = hooks.filter((one) => isSameUrl(one.url, url));
  const notes = others.length > 0 ? [duplicateNote(others)] : [];
  const missing = hook ? knownEvents.filter((name) => !delivers(hook, name, connection)) : knownEvents;
  if (apply && (!hook || missing.length > 0)) {
    const wanted = { url, project, events: [...new Set([...(hook?.events ?? []), ...missing])] };
    const savedHook = await write(client, list, hook, wanted, connection, signal);
    const left = knownEvents.filter((name) => !delivers(savedHook, name, connection));
    const report = reportOf(savedHook, connection);
    return {
      ...report,
      notes: [...report.notes, ...notes],
      missing: left,
      unknown: unknownEvents,
      changed: hook ? "updated" : "created",
    };
  }
  const report = hook ? reportOf(hook, connection) : absent;
  return { ...report, notes: [...report.notes, ...notes], missing, unknown: unknownEvents, changed: null };
}

/** Jira does not say which webhook made a delivery, so two deliveries of one change look like two changes. */
const duplicateNote = (others: readonly Hook[]): string =>
  `More than one webhook points to this URL (also ${others.map(({ id }) => id).join(", ")}), so every change starts its tasks more than once. Delete all but one.`;

const absent = { id: null, active: false, configured: [], notes: ["No webhook on the site points to this URL."] };

/** Server and Data Center report comments as updates of their issue too. */
const delivers = ({ events }: Hook, name: string, { is_cloud }: Settings): boolean =>
  events.includes(name) || (!is_cloud && name.startsWith("comment_") && events.includes("jira:issue_updated"));

async function readHooks(client: HttpClient, signal: AbortSignal): Promise<{ list: List; hooks: readonly Hook[] }> {
  for (const list of lists) {
    try {
      const { data } = await client.read({ route: `GET ${list}`, schema: shapes.hooks, signal });
      return { list, hooks: (Array.isArray(data) ? data : data.values).map(hookOf) };
    } catch (error) {
      const { code, message } = error as { code?: unknown; message: string };
      if (code === "not_found" && list !== lists.at(-1)) continue;
      if (code !== "unauthorized" && code !== "not_found") throw error;
      throw new PluginError(
        "unauthorized",
        `the token cannot read the site's webhooks: its account must be an administrator (${message})`,
      );
    }
  }
  throw new PluginError("unsupported", "the site has no API for webhooks");
}

async function write(
  client: HttpClient,
  list: List,
  hook: Hook | undefined,
  { url, project, events }: { url: string; project: string | null; events: readonly string[] },
  { webhook_secret }: Settings,
  signal: AbortSignal,
): Promise<Hook> {
  const secret = webhook_secret === undefined ? {} : { secret: webhook_secret };
  if (hook) {
    const body = { ...hook.shown, events };
    const request = { route: `PUT ${list}/{hook}`, path: { hook: hook.id }, body, schema: shapes.hook, signal };
    return hookOf((await client.write(request)).data);
  }
  const filter = project === null ? "" : `project = "${projectKeyOf(project)}"`;
  const own =
    list === lists[0]
      ? { filters: { "issue-related-events-section": filter }, excludeBody: false, ...secret }
      : {
          configuration: {
            FILTERS: JSON.stringify({ "issue-related-events-section": filter }),
            EXCLUDE_BODY: "false",
            ...secret,
          },
        };
  const body = { name: "Signalbox", url, events, ...own };
  return hookOf((await client.write({ route: `POST ${list}`, body, schema: shapes.hook, signal })).data);
}

function hookOf(shown: typeof shapes.hook._output): Hook {
  const { self, id, enabled, active, excludeBody, configuration, url, events } = shown;
  const {
    self: _,
    id: __,
    lastUpdatedUser: ___,
    lastUpdatedDisplayName: ____,
    lastUpdated: _____,
    statistics: ______,
    ...otherFields
  } = shown;
  return {
    id: String(id ?? self?.split("/").at(-1) ?? ""),
    url,
    events: events ?? [],
    active: enabled ?? active ?? true,
    shown: otherFields,
    hasBody: excludeBody !== true && configuration?.EXCLUDE_BODY !== "true",
  };
}

function reportOf({ id, active, events, hasBody }: Hook, { is_cloud }: Settings) {
  const notes: string[] = [];
  if (!active) notes.push("The webhook is disabled.");
  if (!hasBody) notes.push("The webhook sends no bodies, so its deliveries are empty: turn off 'Exclude body'.");
  if (!is_cloud && events.includes("jira:issue_updated") && events.some((name) => name.startsWith("comment_")))
    notes.push(
      "Each comment is delivered twice, once as a comment and once as an update of its issue. The second is a duplicate.",
    );
  return { id, active, configured: [...events], notes };
}
