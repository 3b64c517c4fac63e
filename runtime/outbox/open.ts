import type { EffectivePolicy } from "@signalbox/schema/policy";
import { cutMarkdown } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { Report } from "../platform/log.ts";
import { yieldIfLong } from "../platform/next-turn.ts";
import { Failure } from "../platform/retry.ts";
import type { Connection } from "../plugins/connections.ts";
import { hostsIn } from "../plugins/settings-hosts.ts";
import { type Policies, projectKeyOf } from "../policy/policies.ts";
import type { Parameters, RegisteredTool } from "../tools/registered-tool.ts";
import { cleanLine } from "../untrusted/clean.ts";
import { rewriteArguments } from "./arguments.ts";
import { defuse } from "./defuse.ts";
import { participants, projectNames } from "./payload-names.ts";
import { authorsOfSubject, payloadOf } from "./queries.ts";
import { redact } from "./redact.ts";
import type { SecretFinder } from "./secret-finder.ts";
import { checkTarget } from "./targets.ts";

/** The run whose agent writes. */
interface OutgoingRun {
  readonly id: string;
  readonly event_id: string | null;
  readonly project_id: number | null;
  readonly source: string;
  readonly project: string | null;
  readonly issue: string | null;
}

interface OutboxOptions {
  readonly sql: Sql;
  readonly policies: Pick<Policies, "during">;
  readonly secrets: () => SecretFinder;
  readonly footer: FooterOptions;
  /** Writes an error to the watchdog. */
  readonly alarm: Report;
  /** Records a refused call in the audit log. */
  readonly recordRefusal: (call: { execution: string; agent: string | null; tool: string; reason: string }) => Promise<void>;
}

export interface Outbox {
  of(run: OutgoingRun, agentId: string | null): OutboxFilter;
  /** The arguments of an operator's call, without the service's secrets. Their targets are not checked. */
  withoutSecrets(tool: RegisteredTool, input: Parameters): Parameters;
}

export const openOutbox = (options: OutboxOptions): Outbox => ({
  of: (run, agentId) => new OutboxFilter(run, agentId, options),
  withoutSecrets: (tool, input) => {
    const clean = (text: string) => reportSecrets(redact(text, options.secrets()), { tool: tool.qualifiedName }, options);
    return rewriteArguments(input, { text: clean, identifier: clean });
  },
});

function reportSecrets(
  { text, names }: ReturnType<typeof redact>,
  context: Record<string, unknown>,
  { alarm }: Pick<OutboxOptions, "alarm">,
): string {
  if (names.length > 0) alarm("a secret was removed from an agent's text", { ...context, secrets: names });
  return text;
}

/** A text without any of these characters mentions no participant. */
const mayMention = /@|\[~|accountid:/;
/** Space for the marker in a comment, in characters. */
const markerLength = 300;

/** All texts and calls of a run's agent pass it before they reach a tracker or any other service. */
export class OutboxFilter {
  readonly #run: OutgoingRun;
  readonly #agentId: string | null;
  readonly #options: OutboxOptions;
  readonly #policy: () => EffectivePolicy;
  #participants: Promise<ReadonlySet<string>> | null = null;
  /** The last text without secrets, and the secrets that it was searched for: an answer is checked before it is stored and posted. */
  #clean: { readonly text: string; readonly secrets: SecretFinder } | null = null;

  constructor(run: OutgoingRun, agentId: string | null, options: OutboxOptions) {
    this.#run = run;
    this.#agentId = agentId;
    this.#options = options;
    this.#policy = options.policies.during(agentId, projectKeyOf(run));
  }

  /** A text without the secrets of this service and other people's keys. */
  withoutSecrets(text: string): string {
    return this.#redact(text, "answer");
  }

  /** An answer as it may be posted to the issue of the run: cut to the length that the platform accepts, and signed. */
  async answer(text: string, connection: Connection | null): Promise<string> {
    const footer = footerOf(this.#run, this.#agentId, this.#options.footer);
    const clean = await yieldIfLong(this.#redact(text, "comment"));
    const safe = this.#defuse(clean, await this.#participantsFor(clean), connection);
    return this.#fit(await yieldIfLong(safe), connection, footer);
  }

  /** The arguments of a call as they may be sent. Throws a `Failure` if the call is refused. */
  async arguments(tool: RegisteredTool, input: Parameters, connection: Connection | null): Promise<Parameters> {
    const policy = this.#policy();
    const { source, project, issue, event_id, id } = this.#run;
    const verdict = await checkTarget(tool, input, {
      source,
      eventPlace: { project, issue },
      hosts: hostsOf(connection),
      targets: policy.targets.value,
      reads: policy.reads.value,
      aliases: async () => (event_id === null ? [] : projectNames(await payloadOf(this.#options.sql, event_id))),
    });
    if (verdict.kind === "refused") {
      const { reason } = verdict;
      await this.#options.recordRefusal({ execution: id, agent: this.#agentId, tool: tool.qualifiedName, reason });
      throw new Failure(reason, { retryable: false });
    }
    // The arguments of a read also reach another service, so they must not contain a secret either.
    const redactSecrets = (text: string) => this.#redact(text, tool.qualifiedName);
    if (tool.effect !== "write") return rewriteArguments(verdict.input, { text: redactSecrets, identifier: redactSecrets });
    const json = JSON.stringify(verdict.input);
    const participants = await this.#participantsFor(json);
    const identity = (text: string) => text;
    await yieldIfLong(json);
    const redacted = rewriteArguments(verdict.input, { text: redactSecrets, identifier: redactSecrets });
    await yieldIfLong(json);
    const defused = rewriteArguments(redacted, {
      text: (text) => this.#defuse(text, participants, connection),
      identifier: identity,
    });
    await yieldIfLong(json);
    return rewriteArguments(defused, { text: (text) => this.#fit(text, tool.source && connection, ""), identifier: identity });
  }

  #redact(text: string, place: string): string {
    const secrets = this.#options.secrets();
    if (this.#clean?.text === text && this.#clean.secrets === secrets) return text;
    const result = redact(text, secrets);
    if (result.names.length === 0) this.#clean = { text, secrets };
    const context = { execution_id: this.#run.id, agent_id: this.#agentId, in: place };
    return reportSecrets(result, context, this.#options);
  }

  #defuse(text: string, participants: ReadonlySet<string>, connection: Connection | null): string {
    const allow = this.#policy().allow.value;
    return defuse(text, { allow, participants, hosts: hostsOf(connection) });
  }

  #fit(text: string, connection: Connection | null, footer: string): string {
    const maxLength = connection?.source.adapter.maxCommentLength ?? Number.POSITIVE_INFINITY;
    return cutMarkdown(text, maxLength - footer.length - markerLength) + footer;
  }

  /** Reads the participants only if a text mentions someone. */
  #participantsFor(text: string): Promise<ReadonlySet<string>> {
    const { event_id } = this.#run;
    if (event_id === null || !mayMention.test(text)) return Promise.resolve(new Set());
    this.#participants ??= this.#findParticipants(event_id);
    return this.#participants;
  }

  async #findParticipants(eventId: string): Promise<ReadonlySet<string>> {
    const { sql } = this.#options;
    const [payload, authors] = await Promise.all([payloadOf(sql, eventId), authorsOfSubject(sql, eventId)]);
    return new Set([...participants(payload), ...authors].map((name) => name.toLowerCase()));
  }
}

/** Hosts of the platforms' clouds, in addition to their API host. */
const cloudHosts: Readonly<Record<string, readonly string[]>> = {
  alpha: ["github.com", "api.github.com", ".githubusercontent.com", "github.githubassets.com"],
  beta: ["gitlab.com"],
  gamma: [],
  delta: ["app.plane.so", "api.plane.so"],
};

/** The hosts of the platform of a connection. */
function hostsOf(connection: Connection | null): string[] {
  if (!connection) return [];
  const settingsHosts = hostsIn(connection.settings).map((host) => host.replace(/:\d+$/, ""));
  const isCloud = settingsHosts.length === 0 || settingsHosts.some((host) => cloudHosts[connection.source.name]?.includes(host));
  return [...settingsHosts, ...(isCloud ? (cloudHosts[connection.source.name] ?? []) : [])];
}

interface FooterOptions {
  /** `COMMENT_FOOTER`. */
  readonly enabled: boolean;
  /** `PUBLIC_URL`, without a slash at its end. */
  readonly publicUrl: string | null;
}

/** Platforms whose Markdown renders `<sub>` as small print. On the others, the tag would be visible. */
const withSmallPrint = new Set(["alpha", "beta"]);

/** The line at the end of an answer that names its agent and run; empty if footers are off. */
function footerOf({ id, source }: OutgoingRun, agent: string | null, { enabled, publicUrl }: FooterOptions): string {
  if (!enabled) return "";
  const run = publicUrl === null ? `run ${id}` : `[run ${id}](${publicUrl}/console/run/${id})`;
  const line = `${cleanLine(agent ?? "fallback prompt", 100)
    .replace(/[[\]<>*`@#]/g, " ")
    .trim()} · ${run}`;
  return withSmallPrint.has(source) ? `\n\n<sub>${line}</sub>` : `\n\n*${line}*`;
}
