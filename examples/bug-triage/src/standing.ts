import { type OperationsAccess, route } from "@signalbox/sdk";
import { z } from "zod";
import { find, piecesOf } from "./pieces.ts";

const input = z.object({ project: z.string().min(1).max(200).default("octo/bug-triage") });

/** `GET /plugins/bug-triage/standing?project=octo/app` */
export const standing = (operations: OperationsAccess) =>
  route({
    about: "Lists the objects of a project's setup that exist.",
    method: "GET",
    scope: "read",
    input,
    run: async ({ input: { project } }) => {
      // Objects with an id of their own are looked up by id, without a list.
      const listed = piecesOf(project).filter(({ row }) => typeof row.id !== "string");
      const found: Record<string, boolean> = {};
      // Sequentially: the host accepts 64 calls of a plugin at a time, over all its requests.
      for (const piece of listed) found[piece.noun] = (await find(operations, piece)) !== undefined;
      return { status: 200, body: { project, standing: found } };
    },
  });
