import { useState } from "preact/hooks";
import type { Explanation, Resolution } from "../../../../schema/gen/client.ts";
import { CallError, call } from "../api/call.ts";
import { State } from "../parts/badge.tsx";
import { Field, Form, textOf } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { Text } from "../parts/text.tsx";

/** The headers in which the platforms name the event. Each plugin reads its own. */
const eventHeaders = ["x-github-event", "x-gitlab-event", "x-plane-event"];

/** Each check of a pasted webhook, with its result in words. Stores nothing. */
export function TryPayload() {
  const [found, setFound] = useState<Explanation | null>(null);
  const explain = async (values: FormData) => {
    const event = textOf(values, "event");
    const payload = payloadOf(textOf(values, "payload"));
    setFound(
      await call("tasks.explain", {
        source: textOf(values, "payload-source"),
        headers: Object.fromEntries(event ? eventHeaders.map((name) => [name, event]) : []),
        payload,
      }),
    );
  };
  return (
    <Section title="What would a payload start?">
      <div class="card">
        <Form label="Explain" run={explain} done="">
          <div class="fields two">
            <Field name="payload-source" label="Source or integration" required placeholder="alpha" />
            <Field name="event" label="Event header" placeholder="issues" />
          </div>
          <Field name="payload" label="Payload" lines={6} required placeholder="The JSON that the tracker sends" />
        </Form>
        {found && (
          <div role="status">
            <p>
              <State of="delivery" state={found.outcome} />{" "}
              <Text>
                {found.reason ??
                  `It would start ${found.tasks
                    .filter(({ starts }) => starts)
                    .map(({ task_id }) => task_id)
                    .join(", ")}.`}
              </Text>
            </p>
            <ul class="list">
              {[...found.checks, ...found.tasks.flatMap(({ task_id, checks }) => checks.map((one) => ({ ...one, task_id })))].map(
                (one, index) => (
                  <li key={index}>
                    <span class="side">{one.passes ? "passes" : "stops"}</span>
                    <span class="main">
                      {"task_id" in one && <code>{String(one.task_id)}</code>} <Text max={400}>{one.reason}</Text>
                    </span>
                  </li>
                ),
              )}
            </ul>
          </div>
        )}
      </div>
    </Section>
  );
}

function payloadOf(text: string): Record<string, unknown> {
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch (error) {
    throw new CallError(400, `The payload is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof payload === "object" && payload !== null && !Array.isArray(payload)) return payload as Record<string, unknown>;
  throw new CallError(400, "The payload must be a JSON object, as the tracker sends it.");
}

/** Which trigger an event fires and which tasks that starts. Stores nothing. */
export function TryEvent() {
  const [found, setFound] = useState<Resolution | null>(null);
  const resolve = async (values: FormData) => {
    const [source, event] = [textOf(values, "source"), textOf(values, "event")];
    setFound(await call("tasks.resolve", { source, event, action: textOf(values, "action") || undefined }));
  };
  return (
    <Section title="What would an event start?">
      <div class="card">
        <Form label="Show" run={resolve} done="">
          <div class="fields three">
            <Field name="source" label="Source" required placeholder="alpha" />
            <Field name="event" label="Event" required placeholder="issues" />
            <Field name="action" label="Action" placeholder="opened" />
          </div>
        </Form>
        {found && (
          <p class="card-foot" role="status">
            {found.canonical_trigger ? (
              <>
                Fires <code>{found.canonical_trigger}</code>
                {found.tasks.length > 0 ? (
                  <>
                    , which starts <Text>{found.tasks.map(({ id }) => id).join(", ")}</Text>.
                  </>
                ) : (
                  ", but no task is mapped to it."
                )}
              </>
            ) : (
              "Fires nothing: no source event mapping matches. Add one below."
            )}
          </p>
        )}
      </div>
    </Section>
  );
}
