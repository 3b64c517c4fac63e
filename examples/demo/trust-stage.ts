import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { issueOpened } from "./alpha-platform.ts";
import { allText, type ChatRequest } from "./chat.ts";
import { gullible } from "./gullible.ts";
import { type Model, startModel } from "./model.ts";
import type { Narrator } from "./narrator.ts";
import { type Signalbox, startSignalbox } from "./signalbox.ts";
import { startTracker, type Tracker } from "./tracker.ts";

export interface Run {
  readonly id: string;
  readonly state: string;
  readonly hop: number | null;
  readonly held_reason: string | null;
  readonly waiting_for: string | null;
  readonly reason: string | null;
  readonly error: string | null;
  readonly transcript?: readonly {
    readonly kind: string;
    readonly state: string;
    readonly name: string;
    readonly error: string | null;
  }[];
}
interface Event {
  readonly event_id: string;
  readonly status: string;
  readonly executions?: readonly { readonly id: string }[];
}

/** The author, as the platform reports it. */
export interface Account {
  readonly login: string;
  readonly type?: "User" | "Bot";
  readonly association?: "OWNER" | "COLLABORATOR" | "NONE";
}

/** Tracker, model and service of the story, and the actions of its people and machines. */
export interface TrustStage {
  readonly tell: Narrator;
  readonly tracker: Tracker;
  readonly model: Model;
  readonly signalbox: Signalbox;
  /** The secret that the service must never post. */
  readonly token: string;
  readonly repo: string;
  open(number: number, by: Account, title: string, body: string): Promise<Event>;
  comment(number: number, by: Account, body: string): Promise<Event>;
  edit(number: number, by: Account, title: string): Promise<Event>;
  /** The runs on an issue, newest first. */
  runs(number: number): Promise<readonly Run[]>;
  comments(number: number): readonly string[];
  /** The texts of the model's requests about an issue. */
  asked(number: number): readonly ChatRequest[];
}

const limitMs = 60_000;
/** Waits until `look` returns a value. */
export async function until<T>(what: string, look: () => Promise<T | false | undefined> | T | false | undefined): Promise<T> {
  for (const end = performance.now() + limitMs; performance.now() < end; await sleep(50)) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`not within ${limitMs / 1000} s: ${what}`);
}

/** Starts all three, and one task for issues, edits and comments. `opened` collects the resources to close. */
export async function openStage(
  tell: Narrator,
  onOpen: (end: () => Promise<void>) => void,
  onStart: (service: Signalbox) => void,
): Promise<TrustStage> {
  const [token, secret] = [randomBytes(18).toString("hex"), randomBytes(24).toString("hex")];
  const tracker = await startTracker({ token, autoCreate: true });
  onOpen(() => tracker.close());
  const model = await startModel({ script: gullible(token) });
  onOpen(() => model.close());
  const settings = {
    ALPHA_API_URL: tracker.url,
    ALPHA_TOKEN: token,
    ALPHA_WEBHOOK_SECRET: secret,
    LLM_BASE_URL: model.url,
    LLM_API_KEY: "demonstration",
    LLM_MODEL: "obedient",
    EXECUTION_RETRY_DELAY_SECONDS: "1",
  };
  const signalbox = await startSignalbox(settings, (service) => {
    onOpen(() => service.stop());
    onStart(service);
  });
  await route(signalbox);
  const example = issueOpened();
  const repo = example.repository.full_name;
  const send = async (event: string, payload: object): Promise<Event> => {
    const body = JSON.stringify(payload);
    const headers = {
      "x-github-event": event,
      "x-github-delivery": randomUUID(),
      "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
    };
    return (await signalbox.post<Event>("/webhook/alpha", body, headers)).body;
  };
  const user = ({ login, type = "User" }: Account) => ({
    login,
    type,
    id: [...login].reduce((sum, sign) => sum * 31 + sign.charCodeAt(0), 7),
  });
  const issueOf = (number: number, by: Account, more: object = {}) => ({
    ...example,
    sender: user(by),
    issue: { ...example.issue, number, user: user(by), author_association: by.association ?? "COLLABORATOR", ...more },
  });
  let comments = 0;
  return {
    tell,
    tracker,
    model,
    signalbox,
    token,
    repo,
    open: (number, by, title, body) => {
      tracker.createIssue({ repo, number, title, body, login: by.login });
      return send("issues", { ...issueOf(number, by, { title, body }), action: "opened" });
    },
    comment: (number, by, body) => {
      const comment = { id: ++comments, body, user: user(by), author_association: by.association ?? "COLLABORATOR" };
      return send("issue_comment", { ...issueOf(number, by), action: "created", comment });
    },
    edit: (number, by, title) =>
      send("issues", { ...issueOf(number, by, { title }), action: "edited", changes: { title: { from: "" } } }),
    runs: (number) => signalbox.get<Run[]>(`/api/task-executions?limit=100&subject=${encodeURIComponent(`${repo}#${number}`)}`),
    comments: (number) => tracker.comments(repo, number).map(({ body }) => body),
    asked: (number) => model.chats().filter((request) => allText(request, "user").includes(`${repo}#${number}.`)),
  };
}

async function route(signalbox: Signalbox): Promise<void> {
  const post = (path: string, body?: object) => signalbox.post(path, body && JSON.stringify(body));
  await post("/api/agents/seed");
  await post("/api/tasks/sources/seed");
  const editedMapping = { source: "alpha", event_name: "issues", action: "edited", canonical_trigger: "issue.updated" };
  await post("/api/tasks/sources", editedMapping);
  await post("/api/tasks", { id: "answer", name: "Answer", description: "Answer the issue.", actor_id: "pm_default" });
  for (const canonical_trigger of ["issue.created", "issue.updated", "issue.commented"])
    await post("/api/tasks/triggers", { canonical_trigger, task_id: "answer" });
}
