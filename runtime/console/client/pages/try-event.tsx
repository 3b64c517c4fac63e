import { useState } from "preact/hooks";
import type { Resolution } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { Field, Form, textOf } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { Text } from "../parts/text.tsx";

/** Which trigger an event fires and what that starts. Nothing is stored. */
export function TryEvent() {
  const [found, setFound] = useState<Resolution | null>(null);
  const resolve = async (values: FormData) => {
    const [source, event] = [textOf(values, "source"), textOf(values, "event")];
    setFound(await call("tasks.resolve", { source, event, action: textOf(values, "action") || undefined }));
  };
  return (
    <Section title="What would fire?">
      <div class="card">
        <Form label="Show" run={resolve} done="">
          <div class="fields two">
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
              "Fires nothing: no source event mapping fits. Add one below."
            )}
          </p>
        )}
      </div>
    </Section>
  );
}
