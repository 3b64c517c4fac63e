import type { Socket } from "node:net";

/** Number of bytes held back before the sender is paused. */
const holdLimit = 1024 * 1024;

/** One direction of a proxied connection. Keeps the order of bytes, and forwards the end after them. */
export class TcpDirection {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #waiting: { readonly bytes: Buffer; readonly due: number }[] = [];
  readonly #look: (chunk: Buffer) => void;
  #ended: "end" | "reset" | null = null;
  #timer: NodeJS.Timeout | null = null;
  #frozen = false;
  #dropped = false;
  #full = false;
  #held = 0;
  /** Applies to all data from now on. */
  delayMs: number;

  /** `look` is called with each chunk before it is forwarded. */
  constructor(from: Socket, to: Socket, delayMs: number, look: (chunk: Buffer) => void = () => {}) {
    this.#from = from;
    this.#to = to;
    this.#look = look;
    this.delayMs = delayMs;
    from.on("data", (chunk: Buffer) => this.#arrive(chunk));
    from.on("end", () => this.#end("end"));
    from.on("error", () => this.#end("reset"));
    from.on("close", () => this.#end("end"));
    to.on("drain", () => {
      this.#full = false;
      this.#pass();
    });
  }

  set frozen(frozen: boolean) {
    this.#frozen = frozen;
    this.#pass();
  }

  /** Discards all data from now on. */
  drop(): void {
    this.#dropped = true;
    this.#waiting.length = 0;
    this.#held = 0;
  }

  #arrive(bytes: Buffer): void {
    this.#look(bytes);
    if (this.#dropped) return;
    this.#waiting.push({ bytes, due: performance.now() + this.delayMs });
    this.#held += bytes.length;
    this.#pass();
    if (this.#held > holdLimit) this.#from.pause();
  }

  #end(how: "end" | "reset"): void {
    this.#ended ??= how;
    this.#pass();
  }

  #pass(): void {
    if (this.#frozen) return;
    while (!this.#full) {
      const next = this.#waiting[0];
      if (!next) break;
      const early = next.due - performance.now();
      if (early > 0.5) {
        this.#passLater(early);
        return;
      }
      this.#waiting.shift();
      this.#held -= next.bytes.length;
      if (this.#to.writable) this.#full = !this.#to.write(next.bytes);
    }
    if (this.#held <= holdLimit && this.#from.isPaused()) this.#from.resume();
    if (this.#waiting.length > 0 || this.#dropped) return;
    if (this.#ended === "reset") this.#to.resetAndDestroy();
    else if (this.#ended === "end") this.#to.end();
  }

  #passLater(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#pass();
    }, ms);
  }
}
