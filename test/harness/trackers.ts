import { startTracker as startBeta } from "../../plugins/beta/test-tracker.ts";
import { startTracker as startDelta, workspace } from "../../plugins/delta/test-tracker.ts";
import { startTracker as startGamma } from "../../plugins/gamma/test-tracker.ts";

/** The trackers besides alpha's, on loopback. */
export const startTrackers = async () => ({ beta: await startBeta(), gamma: await startGamma(), delta: await startDelta() });

/** Variables with their addresses for a service. */
export const trackersEnv = (trackers: Awaited<ReturnType<typeof startTrackers>>): Record<string, string> => ({
  BETA_URL: trackers.beta.url,
  BETA_TOKEN: "test-token-1",
  GAMMA_URL: trackers.gamma.url,
  GAMMA_EMAIL: "bot@example.com",
  GAMMA_API_TOKEN: "t",
  DELTA_API_URL: trackers.delta.url,
  DELTA_API_KEY: "test-key-1",
  DELTA_WORKSPACE_SLUG: workspace,
});
