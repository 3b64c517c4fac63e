import { Code, ConnectError } from "@connectrpc/connect";

/** Counts the open streams of a method that needs no credentials. */
export class OpenStreams {
  readonly #most: number;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a stream until it is disposed of. Throws `resource_exhausted` if there are too many. */
  open(): Disposable {
    if (this.#count >= this.#most) throw new ConnectError("Too many streams of this method are open", Code.ResourceExhausted);
    this.#count++;
    return { [Symbol.dispose]: () => void this.#count-- };
  }
}
