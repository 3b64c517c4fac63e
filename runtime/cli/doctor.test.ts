import { expect, test } from "vitest";
import { problemsOf, type ServiceConfiguration } from "./doctor.ts";

const good: ServiceConfiguration = {
  sources: [{ id: 1, source: "alpha", event_name: "issues", action: "opened", canonical_trigger: "issue.created" }],
  webhooks: [{ id: 2, source: "alpha", event_type: "issues", path_pattern: null, canonical_trigger: "issue.created" }],
  triggers: [{ canonical_trigger: "issue.created", task_id: "triage" }],
  tasks: [{ id: "triage", actor_id: "pm_default", actor_fallback: null }],
  agents: [{ id: "pm_default", policy: {} }],
  projects: [],
  tools: [{ qualified_name: "alpha.add_comment", provider: "alpha", origin: "builtin", endpoint: null }],
  checks: [
    { name: "database", state: "ok", message: "answers" },
    { name: "connection:alpha", state: "ok", message: "answers" },
  ],
  plugins: [],
  accounts: [],
  deferred: [],
  refusedPlugins: [],
  refusals: [{ source: "unknown", reason: 'there is no webhook "x"' }],
  unposted: [{ source: "beta", error: "nothing was posted: beta has no internal comments on commits" }],
};

test("doctor finds no problems in a working service", () => {
  expect(problemsOf(good)).toEqual([]);
});

test("doctor leads a new service to its first run", () => {
  const none = { sources: [], webhooks: [], triggers: [], tasks: [], agents: [], checks: [], refused: [] };
  expect(problemsOf({ ...good, ...none })).toEqual([
    expect.stringMatching(/^No tracker is connected\. Set .*ALPHA_TOKEN and ALPHA_WEBHOOK_SECRET/),
    "No event is mapped to a trigger. Run: signalbox agents seed && signalbox tasks seed && signalbox triggers seed && signalbox sources seed",
  ]);
});

test("doctor names the variables without which the answers of runs are not posted, until they are set", () => {
  const missing = (source: string, names: string) => ({
    source,
    error: `nothing was posted: ${source} is not configured (missing ${names})`,
  });
  const unposted = [missing("gamma", "url, api_token"), missing("alpha", "token"), missing("gamma", "api_token")];
  expect(problemsOf({ ...good, unposted: [...unposted, missing("acme", "plugin")] })).toEqual([
    "gamma is not configured, so the answers of 2 runs in the last day were not posted. Set GAMMA_URL and GAMMA_API_TOKEN, and restart the service.",
  ]);
  const accounts = [{ id: "1", source: "gamma", name: "Customer" }];
  expect(problemsOf({ ...good, unposted, accounts })).toEqual([]);
});

test("doctor does not miss a tracker whose check has not answered yet", () => {
  const checks = [{ name: "connections", state: "unknown" as const, message: "the check has not finished yet" }];
  expect(problemsOf({ ...good, checks })).toEqual([]);
});

test("doctor names what prevents events from being answered", () => {
  const closed = { id: 3, source: "alpha", event_name: "issues", action: "closed", canonical_trigger: "issue.closed" };
  const checks = [{ name: "connection:alpha", state: "failed" as const, message: "missing ALPHA_TOKEN" }];
  expect(problemsOf({ ...good, sources: [...good.sources, closed], agents: [], checks })).toEqual([
    "The trigger issue.closed has no task, so this event starts nothing: alpha issues/closed. Run: signalbox triggers seed --include closes",
    "The task triage names the agent pm_default, which does not exist, and has no actor_fallback.",
    "connection:alpha: missing ALPHA_TOKEN",
  ]);
  expect(problemsOf({ ...good, sources: [] })).toEqual(["No event is mapped to a trigger. Run: signalbox sources seed"]);
  expect(problemsOf({ ...good, tasks: [] })).toEqual([expect.stringContaining("the task triage, which does not exist")]);
  const fallback = [{ id: "triage", actor_id: "gone", actor_fallback: "You are an agent." }];
  expect(problemsOf({ ...good, tasks: fallback })).toEqual([]);
});

test("doctor names the webhook mappings whose trigger has no task", () => {
  const deployed = {
    id: 3,
    source: "alpha",
    event_type: "deployment_status",
    path_pattern: null,
    canonical_trigger: "deployment.completed",
  };
  const asWritten = { id: 4, source: "acme", event_type: null, path_pattern: "/webhook/acme", canonical_trigger: null };
  expect(problemsOf({ ...good, webhooks: [...good.webhooks, deployed, asWritten] })).toEqual([
    "The trigger deployment.completed has no task, so this event starts nothing: alpha deployment_status (a webhook mapping). Run: signalbox triggers create --canonical-trigger deployment.completed --task-id <task>",
  ]);
});

test("doctor names mappings that can start nothing", () => {
  const triggers = [
    ...good.triggers,
    { canonical_trigger: "issue.creatd", task_id: "triage" },
    { canonical_trigger: "nightly", task_id: "triage" },
    // A default event has it, even if it is not mapped.
    { canonical_trigger: "pr.merged", task_id: "triage" },
  ];
  const withAction = {
    id: 3,
    source: "gamma",
    event_name: "gamma:issue_updated",
    action: "edited",
    canonical_trigger: "issue.created",
  };
  expect(problemsOf({ ...good, triggers, sources: [...good.sources, withAction] })).toEqual([
    "No event is mapped to the trigger issue.creatd (did you mean issue.created?), so nothing starts its task triage.",
    "No event is mapped to the trigger nightly, so nothing starts its task triage.",
    "The mapping of gamma gamma:issue_updated/edited never matches, because events of gamma have no action. Map gamma:issue_updated without an action, and use a webhook mapping with a jq filter to select some of these events.",
  ]);
  // A path can read an action from the payload.
  const path = { id: 5, source: "gamma", event_type: null, path_pattern: "/webhook/jira", canonical_trigger: null };
  expect(problemsOf({ ...good, sources: [...good.sources, withAction], webhooks: [...good.webhooks, path] })).toEqual([]);
});

test("doctor names what is left to do for a plugin", () => {
  const setting = { name: "token", title: null, secret: false, injected: false, set: false, required: true, of_account: true };
  const linear = { id: "linear", state: "ready" as const, sources: ["linear"], tools: [], settings: [setting], waiting: null };
  const account = { id: "0198a7c2-0000-7000-8000-000000000000", source: "linear", name: "Ours" };
  const found = { ...good, plugins: [linear] };
  expect(problemsOf(found)).toEqual([
    `linear is missing the settings token: signalbox plugin configure linear --settings '{"token": "..."}'`,
  ]);
  expect(problemsOf({ ...found, accounts: [account] })).toEqual([]);
  // An account of the source does not replace the plugin's own credentials.
  const own = { ...setting, name: "signing_secret", secret: true, of_account: false };
  expect(problemsOf({ ...found, plugins: [{ ...linear, settings: [setting, own] }], accounts: [account] })).toEqual([
    `linear is missing the settings signing_secret: signalbox plugin configure linear --settings '{"signing_secret": "..."}'`,
  ]);
  expect(problemsOf({ ...good, plugins: [{ ...linear, settings: [setting, own] }] })).toEqual([
    `linear is missing the settings token, signing_secret: signalbox plugin configure linear --settings '{"token": "...", "signing_secret": "..."}'`,
  ]);
  const optional = { ...setting, secret: true, required: false };
  expect(problemsOf({ ...good, plugins: [{ ...linear, settings: [optional] }] })).toEqual([]);
});

test("doctor names a source whose secret is missing or different at the platform", () => {
  const refused = [
    { source: "alpha", reason: "the signature does not match" },
    { source: "alpha", reason: "the header x-hub-signature-256 is missing" },
    { source: "beta", reason: "the body is not valid JSON" },
  ];
  expect(problemsOf({ ...good, refusals: [...refused, ...good.refusals] })).toEqual([
    "2 webhooks of alpha were refused in the last day: the signature does not match. The webhook on the platform and ALPHA_WEBHOOK_SECRET (or webhook_secret of its integration) must have the same secret.",
  ]);
  const linear = { id: "linear-tracker", state: "ready" as const, sources: ["linear"], tools: [], settings: [], waiting: null };
  const ofPlugin = [{ source: "linear", reason: "missing header Linear-Signature" }];
  expect(problemsOf({ ...good, plugins: [linear], refusals: ofPlugin })).toEqual([
    "A webhook of linear was refused in the last day: missing header Linear-Signature. The webhook on the platform and the settings of the plugin linear-tracker (or its integration) must have the same secret.",
  ]);
});

test("doctor names tools that do not exist, or not yet", () => {
  const agent = {
    id: "pm_default",
    allowed_tools: ["alpha.*", "Alpha.add_comment", "osv.query"],
    policy: { approve: ["comment", "Alpha.Add_comment", "coment", "alpha__add_comment"] },
  };
  const project = { id: 1, name: "Shop", policy: { approve: ["*", "osv.*", "alpha.add_coment"] } };
  expect(problemsOf({ ...good, agents: [agent], projects: [project] })).toEqual([
    "The list allowed_tools of the agent pm_default names tools that do not exist: Alpha.add_comment (did you mean alpha.add_comment?), osv.query.",
    "The list policy.approve of the agent pm_default names tools that do not exist: coment (did you mean comment?), alpha__add_comment (did you mean alpha.add_comment?).",
    "The list policy.approve of the project Shop names tools that do not exist: osv.*, alpha.add_coment (did you mean alpha.add_comment?).",
  ]);
});
