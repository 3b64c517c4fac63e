import { listExecutions } from "@signalbox/schema/tools";
import { handle } from "../operations.ts";
import { listToolExecutions } from "./queries.ts";

export const toolExecutionOperations = [handle(listExecutions, (filter, { sql }) => listToolExecutions(sql, filter))];
