import { LinksOfWrite, runFenced, type WriteFence } from "../platform/write-fence.ts";

/** How long the result of a look is valid, in milliseconds. A removal that is sent later needs another look. */
const lookValidMs = 2_000;

/**
 * Sends a removal unless it is no longer needed. If its request had to wait, because the process was frozen or the tracker limits
 * its rate, `isNeeded` looks again immediately before the request. Returns no error if the removal was not needed.
 */
export async function removeIfNeeded(remove: () => Promise<void>, isNeeded: () => Promise<boolean>, signal: AbortSignal) {
  const deadline = performance.now() + lookValidMs;
  let isNeedless = false;
  let mayHaveWorked = false;
  const links = new LinksOfWrite();
  const untilClosed = (unlink: () => void) => links.add(unlink);
  const allowAll: WriteFence = { send: (request) => request(signal), untilClosed };
  const fence: WriteFence = {
    untilClosed,
    send: async (request) => {
      isNeedless = performance.now() > deadline && !(await runFenced(allowAll, isNeeded));
      if (isNeedless) throw new DOMException("The duplicate no longer exists.", "AbortError");
      const response = await request(signal).catch((error) => {
        mayHaveWorked = true;
        throw error;
      });
      mayHaveWorked ||= response.status < 400 || response.status >= 500;
      return response;
    },
  };
  try {
    await runFenced(fence, remove);
    return { mayHaveWorked, error: null };
  } catch (error: unknown) {
    return { mayHaveWorked, error: isNeedless ? null : error };
  } finally {
    links.close();
  }
}
