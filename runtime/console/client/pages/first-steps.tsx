import type { ComponentChildren } from "preact";
import type { WebhookEvent } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { type Query, useQuery } from "../api/query.ts";
import { Badge } from "../parts/badge.tsx";
import { Section } from "../parts/page.tsx";
import { Link } from "../route/link.tsx";
import { SeedAgents, SeedMore } from "./seed.tsx";
import { SendTestEvent } from "./test-event.tsx";

const trackers = ["alpha", "beta", "gamma", "delta"] as const;

interface Steps {
  readonly agents: boolean;
  readonly event: WebhookEvent | null;
}

/** Which steps to the first comment are done; null once there is a comment. */
export const useFirstSteps = (): Query<Steps | null> =>
  useQuery("first steps", async (signal) => {
    const succeededRuns = await list("task-executions.list", { state: "succeeded", limit: 1 }, signal);
    if (succeededRuns.total > 0) return null;
    const [agents, triggers, events] = await Promise.all([
      list("agents.list", { limit: 1 }, signal),
      list("triggers.list", { limit: 1 }, signal),
      list("webhook-events.list", { limit: 1 }, signal),
    ]);
    return { agents: agents.total > 0 && triggers.total > 0, event: events.items[0] ?? null };
  });

/** The steps to the first comment, shown until there is one. */
export function FirstSteps({ steps }: { steps: Query<Steps | null> }) {
  return steps.data ? <StepList steps={steps.data} reload={steps.reload} /> : null;
}

function StepList({ steps: { agents, event }, reload }: { steps: Steps; reload: () => Promise<void> }) {
  // Trackers may respond slowly, so the line has its final height before they do.
  const tests = useQuery("tested trackers", testTrackers, { live: false });
  // The rest of the page uses the same request.
  const status = useQuery("status", (signal) => call("status.get", {}, signal));
  const model = status.data?.checks.find(({ name, state }) => name === "model" && state !== "unknown");
  const workingTrackers = tests.data ?? [];
  const isKnown = tests.data !== undefined;
  return (
    <Section title="First steps">
      <ol class="list">
        <Step done={isKnown ? workingTrackers.length > 0 : null} title="Connect a tracker">
          {workingTrackers.length > 0
            ? `Connected: ${workingTrackers.join(", ")}. `
            : "Create an account for Signalbox on GitHub, GitLab, Jira or Plane, with a token and a webhook. "}
          <Link to="connections">
            {workingTrackers.length > 0 ? "Set up the webhook under Connections" : "See how under Connections"}
          </Link>
        </Step>
        <Step done={model ? model.state === "ok" : null} title="Connect a model">
          {model?.state === "ok" ? sentence(model.message) : "Any OpenAI-compatible API works. "}
          {model?.state === "failed" && !model.message.startsWith("no LLM") && sentence(`Not working: ${model.message}`)}
          <Link to="connections">{model?.state === "ok" ? "Test it under Connections" : "See how under Connections"}</Link>
        </Step>
        <Step
          done={agents}
          title="Create agents and tasks"
          action={agents ? <SeedMore reload={reload} /> : <SeedAgents reload={reload} />}
        >
          Start with five agents and nine tasks, and change them as you like. Comments, reviews, updates and closes start runs
          only if you select them.
        </Step>
        <Step done={event !== null} title="Send an event" action={<SendTestEvent />}>
          {event ? (
            <Link to={`delivery/${event.id}`}>See what happened to the latest one</Link>
          ) : (
            "Open an issue in the tracker, or send a test event from here."
          )}
        </Step>
        <Step done={false} title="See it run">
          The run appears below. Its answer is posted as a comment in the tracker. <Link to="issues">See all issues</Link>
        </Step>
      </ol>
    </Section>
  );
}

/** With one full stop at its end, and a space before the next sentence. */
const sentence = (text: string): string => `${text.replace(/\.+$/, "")}. `;

async function testTrackers(signal: AbortSignal): Promise<readonly string[]> {
  const tests = await Promise.all(trackers.map((source) => call("integrations.test", { source }, signal).catch(() => null)));
  return trackers.filter((_, index) => tests[index]?.status === "ok");
}

interface StepProps {
  /** null: unknown. */
  readonly done: boolean | null;
  readonly title: string;
  readonly action?: ComponentChildren;
  readonly children: ComponentChildren;
}

function Step({ done, title, action, children }: StepProps) {
  return (
    <li>
      <Badge tone={done ? "good" : "idle"}>{done ? "done" : done === null ? "check" : "to do"}</Badge>
      <span class="main">
        <strong>{title}</strong>
        <span class="why">{children}</span>
      </span>
      {action}
    </li>
  );
}
