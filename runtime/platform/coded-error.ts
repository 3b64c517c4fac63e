/** An error with a code, and a message that says what was expected and what was found. */
export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;
  constructor(code: Code, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
