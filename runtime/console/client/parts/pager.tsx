import type { Page } from "../api/call.ts";
import { navigate, pageUrl, place, query } from "../route/location.ts";
import { countText } from "./time.tsx";

/** The number of items, and a link to older ones. The browser's back button leads to newer ones. */
export function Pager({ page: { total, atLeast, next } }: { page: Pick<Page<unknown>, "total" | "atLeast" | "next"> }) {
  return <PageLinks member="cursor" total={`${countText(total)}${atLeast ? "+" : ""}`} older={next} />;
}

/** The same for a list that has no cursor. Its pages have `size` items. */
export function OffsetPager({ total, size }: { total: number; size: number }) {
  const older = offset() + size;
  return <PageLinks member="offset" total={countText(total)} older={older < total ? String(older) : null} />;
}

/** Number of newer items that the page's address skips. */
export const offset = (): number => Math.max(0, Math.trunc(Number(query.value.get("offset"))) || 0);

interface PageLinksProps {
  /** Member of the page's address that names the shown part of the list. */
  readonly member: "cursor" | "offset";
  readonly total: string;
  /** The value of the member for older items; null on the last page. */
  readonly older: string | null;
}

function PageLinks({ member, total, older }: PageLinksProps) {
  const turn = (value: string | null) =>
    navigate(pageUrl(place.value.path, { ...Object.fromEntries(query.value), [member]: value }));
  const behind = query.value.has(member);
  return (
    <div class="pager">
      <span class="soft">{total} total</span>
      {behind && (
        <button type="button" onClick={() => turn(null)}>
          Newest
        </button>
      )}
      {(behind || older !== null) && (
        <button type="button" disabled={older === null} onClick={() => turn(older)}>
          Older
        </button>
      )}
    </div>
  );
}
