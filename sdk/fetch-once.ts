type Fetch = typeof globalThis.fetch;

/**
 * Wraps `fetch` so that it sends a body at most once. Deno's `fetch` sends a request again if the connection breaks before the
 * response (denoland/deno#35610; on a reused connection also after the fix), which would post a comment twice. It cannot
 * repeat a streamed body. The cost is `Transfer-Encoding: chunked` over HTTP/1.1. On Node `fetch` is returned unchanged.
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
