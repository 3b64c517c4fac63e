import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ActionButton } from "./dialog.tsx";
import { Text } from "./text.tsx";
import { amountText, countText } from "./time.tsx";

/** The response of a bulk operation; without `confirm` it is a preview. */
interface Answer<T> {
  readonly count: number;
  readonly samples: readonly T[];
  readonly confirm: string | null;
  readonly changed: number;
  readonly skipped: number;
  readonly first_error: string | null;
}

interface BulkProps<T> {
  /** `Restart`. */
  readonly verb: string;
  /** The name of one item and of several: `run`, `runs`. */
  readonly nouns: readonly [one: string, several: string];
  /** The operation: without `confirm` a preview, with it the change. */
  readonly run: (confirm: string | undefined) => Promise<Answer<T>>;
  readonly nameOf: (item: T) => string;
  readonly about: ComponentChildren;
  readonly reload: () => Promise<void>;
  /** Whether nothing matches the filters: the action is not offered then, but a result remains. */
  readonly isEmpty: boolean;
  readonly kind?: "primary" | "danger";
}

/** One action for all items that match the filters. It first shows how many and which, then changes exactly those. */
export function Bulk<T>({ verb, nouns, run, nameOf, about, reload, isEmpty, kind = "primary" }: BulkProps<T>) {
  const [preview, setPreview] = useState<Answer<T> | null>(null);
  const [result, setResult] = useState<string | null>(null);
  const look = async () => {
    const answer = await run(undefined);
    setResult(answer.count === 0 ? "None of these can be changed this way." : null);
    setPreview(answer.count === 0 ? null : answer);
  };
  const perform = async () => {
    const { changed, skipped, first_error } = await run(preview?.confirm ?? undefined);
    const rest = skipped === 0 ? "" : `, ${countText(skipped)} unchanged${first_error ? `: ${first_error}` : ""}`;
    setResult(`${countText(changed)} done${rest}`);
    setPreview(null);
    await reload();
  };
  if (isEmpty && preview === null && result === null) return null;
  return (
    <span>
      {preview === null ? (
        <ActionButton label={`${verb} all`} needs="write" run={look} />
      ) : (
        <ActionButton
          label={`${verb} ${amountText(preview.count, nouns)}`}
          kind={kind}
          run={perform}
          confirm={
            <>
              {about}
              <ul class="plain samples">
                {preview.samples.map((item, index) => (
                  <li key={index}>
                    <Text>{nameOf(item)}</Text>
                  </li>
                ))}
              </ul>
              {preview.count > preview.samples.length && (
                <p class="soft">and {countText(preview.count - preview.samples.length)} more</p>
              )}
            </>
          }
        />
      )}{" "}
      <span role="status">{result}</span>
    </span>
  );
}
