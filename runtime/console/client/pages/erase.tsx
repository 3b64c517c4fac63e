import { useState } from "preact/hooks";
import { call, type InputOf, type OutputOf } from "../api/call.ts";
import { ActionButton } from "../parts/dialog.tsx";
import { Field, Form, SelectField, textOf } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { Text } from "../parts/text.tsx";
import { amountText, countText } from "../parts/time.tsx";

const targets = [
  ["subject", "an issue"],
  ["actor", "a person"],
  ["project_id", "a project"],
] as const;
type Target = InputOf<"data.erase">;
interface Preview {
  readonly target: Target;
  readonly name: string;
  readonly counts: OutputOf<"data.erase">;
}

/** Erases the data about an issue, a person or a project. Shows the counts first and asks for confirmation. */
export function EraseData() {
  const [preview, setPreview] = useState<Preview | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const count = async (values: FormData) => {
    const name = textOf(values, "of");
    const kind = textOf(values, "kind") as (typeof targets)[number][0];
    const target = kind === "project_id" ? { project_id: Number(name) } : { [kind]: name };
    setDone(null);
    setPreview(null);
    setPreview({ target, name, counts: await call("data.erase", { ...target, dry_run: true }) });
  };
  const erase = async () => {
    if (!preview) return;
    const counts = await call("data.erase", preview.target);
    setPreview(null);
    setDone(`Erased: ${sentence(counts)}.`);
  };
  return (
    <Section title="Erase data about an issue, person or project">
      <p class="hint lead">
        Removes payloads, transcripts, results, tool calls and the memories made from them. Ids, states and times stay, so that a
        redelivered webhook is still recognised.
      </p>
      <Form label="Preview" run={count} done="" needs="admin">
        <SelectField name="kind" label="Erase data about" options={targets} />
        <Field
          name="of"
          label="Which one"
          required
          placeholder="acme/webshop#42"
          hint="The issue as shown in lists, the person's login, or the project's id. To list these ids: signalbox projects list"
        />
      </Form>
      {preview && (
        <div class="card verdict">
          <p>
            <Text>{preview.name}</Text>: {sentence(preview.counts)}.
          </p>
          <ActionButton
            label="Erase"
            kind="danger"
            disabled={isEmpty(preview.counts)}
            why="Nothing is stored about it."
            confirm={
              <p>
                This removes {sentence(preview.counts)} about “<Text>{preview.name}</Text>”. This cannot be undone.
              </p>
            }
            run={erase}
          />
        </div>
      )}
      <p role="status">{done}</p>
    </Section>
  );
}

const isEmpty = ({ events, executions, memories }: Preview["counts"]): boolean => events + executions + memories === 0;

function sentence({ events, executions, steps, memories, cancelled }: Preview["counts"]): string {
  const cancelledText = cancelled > 0 ? ` (${countText(cancelled)} of them cancelled)` : "";
  return [
    amountText(events, ["delivery", "deliveries"]),
    `${amountText(executions, ["run", "runs"])}${cancelledText}`,
    amountText(steps, ["step", "steps"]),
    amountText(memories, ["memory", "memories"]),
  ].join(", ");
}
