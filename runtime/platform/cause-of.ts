/** The innermost cause of an error as text. The message of an error of fetch is only `fetch failed`. */
export function causeOf(error: unknown): string {
  let innermost = error;
  for (let depth = 0; depth < 5 && innermost instanceof Error && innermost.cause instanceof Error; depth++)
    innermost = innermost.cause;
  const outer = error instanceof Error ? error.message : String(error);
  const inner = innermost instanceof Error ? innermost.message || (innermost as { code?: string }).code || "" : "";
  return (inner && !outer.includes(inner) ? `${outer}: ${inner}` : outer).slice(0, 500);
}
