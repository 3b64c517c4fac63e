/** An error with a code to look up, and what was expected and what came. */
export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;
  constructor(code: Code, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
