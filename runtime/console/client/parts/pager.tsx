import { setQuery } from "../route/location.ts";
import { countText } from "./time.tsx";

interface PagerProps {
  readonly from: number;
  readonly count: number;
  readonly total: number;
  readonly perPage: number;
}

/** Which part of a list this is, and the parts beside it. */
export function Pager({ from, count, total, perPage }: PagerProps) {
  const turn = (offset: number) => setQuery({ offset: offset > 0 ? offset : null });
  return (
    <div class="pager">
      <span class="soft">
        {countText(from + 1)}–{countText(from + count)} of {countText(total)}
      </span>
      <button type="button" disabled={from === 0} onClick={() => turn(Math.max(0, from - perPage))}>
        Newer
      </button>
      <button type="button" disabled={from + count >= total} onClick={() => turn(from + perPage)}>
        Older
      </button>
    </div>
  );
}
