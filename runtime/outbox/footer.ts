import { cleanLine } from "../untrusted/clean.ts";

export interface FooterOptions {
  /** `COMMENT_FOOTER`. */
  readonly enabled: boolean;
  /** `PUBLIC_URL`, without a slash at its end. */
  readonly publicUrl: string | null;
}
export interface Signed {
  readonly id: string;
  readonly source: string;
}

/** Platforms whose Markdown shows `<sub>` as small print. At the others it would be text. */
const withSmallPrint = new Set(["alpha", "beta"]);

/** The line at the end of an answer that names its agent and run; empty if footers are off. */
export function footerOf({ id, source }: Signed, agent: string | null, { enabled, publicUrl }: FooterOptions): string {
  if (!enabled) return "";
  const run = publicUrl === null ? `run ${id}` : `[run ${id}](${publicUrl}/console/run/${id})`;
  const line = `${cleanLine(agent ?? "fallback prompt", 100)
    .replace(/[[\]<>*`@#]/g, " ")
    .trim()} · ${run}`;
  return withSmallPrint.has(source) ? `\n\n<sub>${line}</sub>` : `\n\n*${line}*`;
}
