/** The message of whatever was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The innermost cause of an error. The message of an error of fetch is only `fetch failed`. */
export function innermost(error: unknown): unknown {
  let cause = error;
  for (let depth = 0; depth < 5 && cause instanceof Error && cause.cause instanceof Error; depth++) cause = cause.cause;
  return cause;
}

/** The message of an error, with that of its innermost cause. */
export function causeOf(error: unknown): string {
  const cause = innermost(error);
  const outer = messageOf(error);
  const { message = "", code = "" } = cause instanceof Error ? (cause as Error & { code?: string }) : {};
  // A message that quotes another one usually omits its last full stop.
  const inner = (message || code).replace(/\.$/, "");
  const isNamed = inner === "" || outer.includes(inner) || (code !== "" && outer.includes(code));
  return (isNamed ? outer : `${outer.replace(/\.$/, "")}: ${inner}`).slice(0, 500);
}
