/** Longer bodies, decompressed, are not read to their end: a hostile server would fill the memory. */
const maxBytes = 64 * 1024 * 1024;

type Signal = AbortSignal | null | undefined;

/** A stream that breaks off as that of fetch does: for the signal's reason, else by a TypeError, also after `maxBytes`. */
export function boundedStream(body: AsyncIterable<Uint8Array>, signal: Signal): ReadableStream<Uint8Array> {
  // At once: undici cancels a body that is not read when the response that it came with is collected as garbage.
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

/** The response with a body that breaks off after `maxBytes`. One whose headers state a permitted length is returned as it is. */
export function boundedResponse(response: Response, signal: Signal): Response {
  const { body, status, headers, url, redirected, statusText } = response;
  const stated = headers.get("content-length");
  const isShort = stated !== null && Number(stated) <= maxBytes && !headers.has("content-encoding");
  if (body === null || isShort) return response;
  const bounded = new Response(boundedStream(body as unknown as AsyncIterable<Uint8Array>, signal), {
    status,
    headers: [...headers],
  });
  const same = Object.entries({ url, redirected, statusText }).map(([name, value]) => [name, { value }]);
  return Object.defineProperties(bounded, Object.fromEntries(same));
}
