/** Limit of the decompressed body of a response, because a hostile server could fill the memory. */
const maxBytes = 64 * 1024 * 1024;

type Signal = AbortSignal | null | undefined;

/** A stream that fails like that of fetch: with the signal's reason, or with a TypeError, also after `maxBytes`. */
export function boundedStream(body: AsyncIterable<Uint8Array>, signal: Signal): ReadableStream<Uint8Array> {
  // The reader is taken immediately, because undici cancels a body that nothing reads when its response is garbage-collected.
  const chunks = body[Symbol.asyncIterator]();
  let bytes = 0;
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await chunks.next();
        bytes += value?.byteLength ?? 0;
        if (bytes > maxBytes) {
          await chunks.return?.();
          throw new Error(`The response is longer than ${maxBytes} bytes.`);
        }
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        signal?.throwIfAborted();
        throw new TypeError("terminated", { cause: error });
      }
    },
    cancel: async () => void (await chunks.return?.()),
  });
}

/** The response with a body that fails after `maxBytes`. If its headers state a permitted length, it is returned unchanged. */
export function boundedResponse(response: Response, signal: Signal): Response {
  const { body, status, headers, url, redirected, statusText } = response;
  const declaredLength = headers.get("content-length");
  const isShort = declaredLength !== null && Number(declaredLength) <= maxBytes && !headers.has("content-encoding");
  if (body === null || isShort) return response;
  const bounded = new Response(boundedStream(body as unknown as AsyncIterable<Uint8Array>, signal), {
    status,
    headers: [...headers],
  });
  const same = Object.entries({ url, redirected, statusText }).map(([name, value]) => [name, { value }]);
  return Object.defineProperties(bounded, Object.fromEntries(same));
}
