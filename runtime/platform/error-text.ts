/** The message of whatever was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The innermost cause of an error as text. The message of an error of fetch is only `fetch failed`. */
export function causeOf(error: unknown): string {
  let innermost = error;
  for (let depth = 0; depth < 5 && innermost instanceof Error && innermost.cause instanceof Error; depth++)
    innermost = innermost.cause;
  const outer = messageOf(error);
  const { message = "", code = "" } = innermost instanceof Error ? (innermost as Error & { code?: string }) : {};
  const inner = message || code;
  const isNamed = inner === "" || outer.includes(inner) || (code !== "" && outer.includes(code));
  return (isNamed ? outer : `${outer.replace(/\.$/, "")}: ${inner}`).slice(0, 500);
}
