import { createServer } from "node:http";
import { isMainThread } from "node:worker_threads";
import { stallOf } from "../../runtime/platform/test-stall.ts";

/**
 * Loaded into a service before its own code (`--import`). The response to each request at the port `STALL_METER_PORT` is the
 * longest processor time of the main thread in one tick of its event loop since the previous request, in milliseconds.
 */
const port = Number(process.env.STALL_METER_PORT);
// Does not count the threads and processes that the service starts.
delete process.env.STALL_METER_PORT;
if (isMainThread && port > 0) {
  let next = () => {};
  const measure = () =>
    stallOf(
      () =>
        new Promise<void>((done) => {
          next = done;
        }),
    );
  let measured = measure();
  createServer(async (_, response) => {
    next();
    // Waits for the known work with which a long stall is compared: it takes longer than a bound, and is no part of the next stall.
    const stall = await measured;
    measured = measure();
    response.setHeader("connection", "close").end(String(stall));
  })
    .listen(port, "127.0.0.1")
    .unref();
}
