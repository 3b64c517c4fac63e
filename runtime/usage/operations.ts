import * as usage from "@signalbox/schema/usage";
import { handle } from "../platform/operation.ts";
import { sumAll } from "./queries.ts";

export const usageOperation = handle(usage.get, (_, { sql }) => sumAll(sql));
