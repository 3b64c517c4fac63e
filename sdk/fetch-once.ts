type Fetch = typeof globalThis.fetch;

/**
 * `fetch` that sends a body at most once. Deno's own sends a request again when the connection breaks before the answer
 * (denoland/deno#35610, and on a kept connection also after its repair): the tracker would hold two comments. It cannot
 * repeat a body that is streamed. The price is `Transfer-Encoding: chunked` over HTTP/1.1. Elsewhere `fetch` is left as it is.
 */
export function fetchOnce(fetch: Fetch, isDeno = "Deno" in globalThis): Fetch {
  if (!isDeno) return fetch;
  return (input, init) => {
    const body = init?.body;
    if (typeof body !== "string" && !(body instanceof ArrayBuffer) && !ArrayBuffer.isView(body)) return fetch(input, init);
    const headers = new Headers(init?.headers);
    if (typeof body === "string" && !headers.has("content-type")) headers.set("content-type", "text/plain;charset=UTF-8");
    const stream = new Blob([body as string | ArrayBuffer]).stream();
    return fetch(input, { ...init, headers, body: stream, duplex: "half" } as RequestInit);
  };
}
