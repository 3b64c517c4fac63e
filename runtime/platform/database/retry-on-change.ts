/** Maximum number of tries. A try fails only if another request was faster, so more failures have another cause. */
const maxTries = 20;

/**
 * Repeats a change of a row that is computed from its stored state, while other requests change the row in between. `change`
 * reads the row and updates it only if it still has that state; it returns `undefined` if it had not.
 */
export async function retryOnChange<R>(change: () => Promise<R | undefined>): Promise<R> {
  for (let tries = 1; tries <= maxTries; tries++) {
    const result = await change();
    if (result !== undefined) return result;
  }
  throw new Error(`a row was changed by others before each of ${maxTries} updates`);
}
