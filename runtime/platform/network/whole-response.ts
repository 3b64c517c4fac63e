const utf8 = new TextDecoder();

/**
 * A response whose body has arrived. Callers use it as a `Response`. It creates one of the runtime's own, which costs as much
 * as a small request, only if the body is read in an unusual way.
 */
export class WholeResponse {
  readonly status: number;
  readonly statusText = "";
  readonly url = "";
  readonly redirected = false;
  readonly type = "default";
  readonly #bytes: ArrayBuffer;
  /** Their names are in lower case. */
  readonly #fields: [string, string][];
  #headers: Headers | undefined;
  #full: Response | undefined;
  #isUsed = false;

  constructor(bytes: ArrayBuffer, status: number, fields: [string, string][]) {
    this.status = status;
    this.#bytes = bytes;
    this.#fields = fields;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }
  get headers(): Headers {
    this.#headers ??= new Headers(this.#fields);
    return this.#headers;
  }
  /** Like `headers.get`, but creates no `Headers`. */
  header(name: string): string | null {
    const values = this.#fields.flatMap(([key, value]) => (key === name ? value : []));
    return values.length === 0 ? null : values.join(", ");
  }
  get bodyUsed(): boolean {
    return this.#full?.bodyUsed ?? this.#isUsed;
  }
  get body(): Response["body"] {
    return this.#whole().body;
  }

  async text(): Promise<string> {
    return this.#full ? this.#full.text() : utf8.decode(this.#take());
  }
  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#full ? this.#full.arrayBuffer() : this.#take();
  }
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await this.arrayBuffer());
  }
  async blob(): Promise<Blob> {
    return this.#whole().blob();
  }
  async formData(): Promise<FormData> {
    return this.#whole().formData();
  }
  clone(): Response {
    return this.#whole().clone();
  }

  #take(): ArrayBuffer {
    if (this.#isUsed) throw new TypeError("the body of this answer was read already");
    this.#isUsed = true;
    return this.#bytes;
  }

  #whole(): Response {
    if (!this.#full) {
      this.#full = new Response(this.#bytes, { status: this.status, headers: this.headers });
      // A body that was read remains read.
      if (this.#isUsed) void this.#full.arrayBuffer();
    }
    return this.#full;
  }
}
// Makes `instanceof` work.
Object.setPrototypeOf(WholeResponse.prototype, Response.prototype);

/** A header of a response; its name in lower case. */
export const headerOf = (response: Response, name: string): string | null =>
  response instanceof WholeResponse ? response.header(name) : response.headers.get(name);
