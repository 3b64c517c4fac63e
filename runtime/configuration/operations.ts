import * as configuration from "@signalbox/schema/configuration";
import { handle } from "../platform/operation.ts";
import type { Setting } from "../platform/settings.ts";

/** `settings`: the settings with which this replica started. */
export const configurationOperation = (settings: readonly Setting[]) =>
  handle(configuration.get, async () => ({ settings: [...settings] }));
