import type { Status } from "../../../../schema/gen/client.ts";
import { session } from "../api/session.ts";
import { base } from "../route/location.ts";
import { Text } from "./text.tsx";
import { countText, Time } from "./time.tsx";

export type Check = Status["checks"][number];

/** The address to which a tracker sends its webhooks. Operators may open the console at an address that trackers do not reach. */
export const webhookUrl = (slug: string): string => {
  const ownUrl = session.value?.public_url ?? new URL(base, location.href).href;
  return `${ownUrl.replace(/\/+$/, "")}/webhook/${slug}`;
};

/** The result of an account's last check: whether it may write, and how much of its rate limit remains. */
export function Health({ check }: { check: Check | undefined }) {
  if (!check) return null;
  const { may_write, rate_limit } = check.connection ?? { may_write: null, rate_limit: null };
  return (
    <>
      <span class="why">
        <Text max={400}>{rate_limit?.limit ? check.message.replace(/; \d+ of \d+ requests left[^;]*/, "") : check.message}</Text>
      </span>
      {may_write === false && <span class="why">Agents cannot answer until this credential has write permission.</span>}
      {rate_limit?.limit ? (
        <span class="budget-text">
          <meter
            class={rate_limit.remaining < rate_limit.limit / 10 ? "bad" : "good"}
            min={0}
            max={rate_limit.limit}
            value={rate_limit.remaining}
            aria-label="Requests left"
          />{" "}
          {countText(rate_limit.remaining)} of {countText(rate_limit.limit)} requests left
          {rate_limit.resets_at && (
            <>
              , resets <Time at={rate_limit.resets_at} />
            </>
          )}
        </span>
      ) : null}
    </>
  );
}
