import type { Page } from "../api/call.ts";
import { navigate, pageUrl, place, query } from "../route/location.ts";
import { countText } from "./time.tsx";

/** The number of items, and a link to older ones. The browser's back button leads to newer ones. */
export function Pager({ page }: { page: Pick<Page<unknown>, "total" | "atLeast" | "next"> }) {
  const turn = (cursor: string | null) => navigate(pageUrl(place.value.path, { ...Object.fromEntries(query.value), cursor }));
  const behind = query.value.has("cursor");
  return (
    <div class="pager">
      <span class="soft">
        {countText(page.total)}
        {page.atLeast && "+"} total
      </span>
      {behind && (
        <button type="button" onClick={() => turn(null)}>
          Newest
        </button>
      )}
      {(behind || page.next !== null) && (
        <button type="button" disabled={page.next === null} onClick={() => turn(page.next)}>
          Older
        </button>
      )}
    </div>
  );
}
