import {
  type CallContext,
  type HttpClient,
  issueParameters,
  PluginError,
  postedComment,
  sanitizeText,
  stripMarker,
  tool,
  truncate,
} from "@signalbox/sdk";
import { z } from "zod";
import { type Address, addressOf, issueOf } from "./address.ts";
import { deleteComment, findAllComments, findComment, maxCommentLength, postComment } from "./comments.ts";
import { placeOf } from "./place.ts";
import { withoutQuickActions } from "./quick-actions.ts";
import { type Settings, webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";
import { isHidden, refusePublicPlace, requireConfidential } from "./visibility.ts";

type ClientOf = (connection: Settings) => HttpClient;

const category = "issue_tracker";
const { issue, project, body, description } = issueParameters({
  issue: 'Issue number: 12, "#12" or "group/project#12"; for a merge request "!12" or "group/project!12".',
  project: 'Project as "group/project".',
});
const route = "/projects/{project}/{kind}/{iid}";

/** Where people see an issue, if the answer does not say so. */
const issueUrlOf = (connection: Settings, { project, kind, iid }: Address): string =>
  `${webUrlOf(connection)}/${project}/-/${kind}/${iid}`;

export const betaTools = (clientOf: ClientOf) => ({
  add_comment: addComment(clientOf),
  update_description: updateDescription(clientOf),
  get_issue: getIssue(clientOf),
});

const addComment = (clientOf: ClientOf) =>
  tool<typeof addCommentInput, typeof postedComment, Settings>({
    about: "Add a comment to an issue or merge request.",
    category,
    effect: "write",
    input: addCommentInput,
    output: postedComment,
    keeps_private: true,
    run: async (input, call) => {
      const place = placeFor(input);
      if (call.private) refusePublicPlace(place);
      return postComment(accountOf(clientOf, call), place, { body: input.body, key: call.key, private: call.private });
    },
    find: async (input, call) =>
      findComment(accountOf(clientOf, call), placeFor(input), { key: call.key, private: call.private }),
    findAll: async (input, call) => findAllComments(accountOf(clientOf, call), placeFor(input), call.key),
    retract: async (input, { id }, call) => deleteComment(accountOf(clientOf, call), placeFor(input), id),
  });
const accountOf = (clientOf: ClientOf, { connection, signal }: CallContext<Settings>) => ({
  client: clientOf(connection),
  connection,
  signal,
});
const placeFor = ({ issue, project }: { issue: string | number; project?: string | undefined }) =>
  placeOf({ issue: String(issue), project: project ?? "" });
const addCommentInput = z.object({ issue, project, body });

const updateDescription = (clientOf: ClientOf) =>
  tool<typeof descriptionInput, typeof updateOutput, Settings>({
    about:
      "Replace the description of an issue or merge request. The old text is lost: read it first and keep what is still valid.",
    category,
    effect: "write",
    idempotent: true,
    input: descriptionInput,
    output: updateOutput,
    keeps_private: true,
    run: async (input, call) => {
      const { connection, signal } = call;
      const address = addressOf(input.issue, input.project);
      if (call.private) await requireConfidential(accountOf(clientOf, call), input.issue, input.project);
      const body = { description: truncate(withoutQuickActions(sanitizeText(input.description)), maxCommentLength) };
      const request = { route: `PUT ${route}`, path: { ...address }, body, schema: shapes.changedIssue, signal };
      const { data } = await clientOf(connection).write(request);
      return { issue: issueOf(address.kind, data.iid ?? address.iid), url: data.web_url ?? issueUrlOf(connection, address) };
    },
  });
const descriptionInput = z.object({ issue, project, description });
const updateOutput = z.object({ issue: z.string(), url: z.string() });

const getIssue = (clientOf: ClientOf) =>
  tool<typeof issueInput, typeof issueOutput, Settings>({
    about: "Read an issue or merge request: title, state, description, labels and its last 30 comments.",
    category,
    effect: "read",
    input: issueInput,
    output: issueOutput,
    run: async (input, { connection, signal, private: hidden }) => {
      const address = addressOf(input.issue, input.project);
      const client = clientOf(connection);
      const isPublic = hidden === false;
      const { data } = await client.read({ route: `GET ${route}`, path: { ...address }, schema: shapes.issue, signal });
      if (isPublic && isHidden(data))
        throw new PluginError("unsupported", "the issue is confidential, but everyone can read what this run writes");
      const query = { per_page: 30, sort: "desc", order_by: "created_at" };
      const request = { route: `GET ${route}/notes`, path: { ...address }, query, schema: shapes.shownNotes, signal };
      const listed = (await client.read(request)).data.filter((note) => note !== null);
      const notes = listed.filter((note) => !note.system && !(isPublic && isHidden(note))).reverse();
      return {
        issue: issueOf(address.kind, data.iid),
        title: sanitizeText(data.title ?? ""),
        state: data.state ?? "",
        description: sanitizeText(data.description ?? ""),
        labels: data.labels ?? [],
        author: data.author?.username ?? null,
        url: data.web_url ?? issueUrlOf(connection, address),
        created_at: data.created_at ?? null,
        updated_at: data.updated_at ?? null,
        comments: notes.map((note) => ({
          author: note.author?.username ?? null,
          created_at: note.created_at ?? null,
          updated_at: note.updated_at ?? null,
          body: sanitizeText(stripMarker(note.body)),
        })),
      };
    },
  });
const issueInput = z.object({ issue, project });
/** From these times, the service marks the texts that were written after the event of the run. */
const times = { created_at: z.string().nullable(), updated_at: z.string().nullable() };
const issueOutput = z.object({
  issue: z.string(),
  title: z.string(),
  state: z.string(),
  description: z.string(),
  labels: z.array(z.string()),
  author: z.string().nullable(),
  url: z.string(),
  ...times,
  comments: z
    .array(z.object({ author: z.string().nullable(), ...times, body: z.string() }))
    .describe("The last 30, oldest first."),
});
