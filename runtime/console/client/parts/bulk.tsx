import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { CallError } from "../api/call.ts";
import { may } from "../api/session.ts";
import { ActionButton } from "./dialog.tsx";
import { Text } from "./text.tsx";
import { countText } from "./time.tsx";

/** Items that one press works on. */
const most = 1_000;
const samples = 10;

interface BulkProps<T> {
  /** `Restart all`. */
  readonly label: string;
  /** Everything that matches, up to `limit` items. */
  readonly find: (limit: number) => Promise<readonly T[]>;
  readonly nameOf: (item: T) => string;
  readonly run: (item: T) => Promise<unknown>;
  readonly about: ComponentChildren;
  readonly total: number;
  readonly reload: () => Promise<void>;
}

/** One action for everything that the filters match: first how many and which, then one after the other. */
export function Bulk<T>({ label, find, nameOf, run, about, total, reload }: BulkProps<T>) {
  const [items, setItems] = useState<readonly T[] | null>(null);
  const [result, setResult] = useState<string | null>(null);
  const perform = async () => {
    const refused: string[] = [];
    let done = 0;
    for (const item of items ?? []) {
      try {
        await run(item);
        done++;
      } catch (error) {
        // Its state has changed meanwhile; the others are not concerned.
        if (!(error instanceof CallError) || error.status === 0 || error.status >= 500) throw error;
        refused.push(error.message);
      }
      setResult(`${countText(done)} of ${countText(items?.length ?? 0)} done`);
    }
    if (refused.length > 0) setResult(`${countText(done)} done, ${countText(refused.length)} refused: ${refused[0]}`);
    setItems(null);
    await reload();
  };
  const disabled = !may.value.write;
  return (
    <p class="buttons lead">
      {items === null ? (
        <button
          type="button"
          disabled={disabled}
          title={disabled ? "Your key may only read." : undefined}
          onClick={async () => setItems(await find(most))}
        >
          {label} ({countText(total)})
        </button>
      ) : (
        <ActionButton
          label={`${label}: ${countText(items.length)}`}
          kind="primary"
          run={perform}
          confirm={
            <>
              {about}
              <ul class="plain samples">
                {items.slice(0, samples).map((item, index) => (
                  <li key={index}>
                    <Text>{nameOf(item)}</Text>
                  </li>
                ))}
              </ul>
              {items.length > samples && <p class="soft">and {countText(items.length - samples)} more</p>}
            </>
          }
        />
      )}
      <span role="status">{result}</span>
    </p>
  );
}
