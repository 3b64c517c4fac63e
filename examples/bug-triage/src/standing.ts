import { type OperationsAccess, route } from "@signalbox/sdk";
import { z } from "zod";
import { find, piecesOf } from "./pieces.ts";

const input = z.object({ project: z.string().min(1).max(200).default("octo/bug-triage") });

/** `GET /plugins/bug-triage/standing?project=octo/app` */
export const standing = (operations: OperationsAccess) =>
  route({
    about: "Which of the pieces that the setup makes for a project stand.",
    method: "GET",
    scope: "read",
    input,
    run: async ({ input: { project } }) => {
      // Those with an id of their own are found by nobody else's list.
      const listed = piecesOf(project).filter(({ row }) => typeof row.id !== "string");
      const found = await Promise.all(listed.map(async (piece) => [piece.noun, (await find(operations, piece)) !== undefined]));
      return { status: 200, body: { project, standing: Object.fromEntries(found) } };
    },
  });
