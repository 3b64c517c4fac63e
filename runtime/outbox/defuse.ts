import { hasMore, rewriteProse } from "../platform/markdown/prose.ts";
import { withoutInvisible } from "../untrusted/invisible.ts";
import { withoutLoadingDiagrams } from "./diagrams.ts";
import { withoutForeignImages } from "./images.ts";
import { decodeReferences } from "./references.ts";

/** Content that a policy can allow in a text. */
type AllowedContent = "mentions" | "images" | "closing" | "commands";

interface DefuseOptions {
  readonly allow: readonly AllowedContent[];
  /** Names of those who take part in the issue, in lower case: they may be notified. */
  readonly participants: ReadonlySet<string>;
  /** Hosts whose images are shown. */
  readonly hosts: readonly string[];
}

/**
 * The zero-width joiner is invisible. Between two characters, it keeps a platform from recognising a command, but people see no
 * difference.
 */
const zeroWidthJoiner = "\u200d";

/**
 * The text as it may be posted: it notifies only participants of the issue, loads no image of another host, closes no
 * issue and commands no bot or platform. People read the same. Code stays as it is, but a diagram that could load an image becomes
 * code. Takes linear time.
 */
export function defuse(text: string, { allow, participants, hosts }: DefuseOptions): string {
  const visible = withoutInvisible(text, { keepsCrlf: true });
  return rewriteProse(allow.includes("images") ? visible : withoutLoadingDiagrams(visible), (prose) => {
    let result = prose;
    if (!allow.includes("images")) result = withoutForeignImages(result, hosts);
    if (!allow.includes("mentions")) result = withoutMentions(result, participants);
    if (!allow.includes("closing")) result = withoutClosing(result);
    return allow.includes("commands") ? result : withoutCommands(result);
  });
}

/** A name, and what can make it another one: a team after it, or a character reference. */
const account =
  "(?=([A-Za-z0-9_](?:[\\w.-]{0,100}\\w)?(?:\\[bot\\])?)(\\/[\\w.-]|[.-]{0,100}&(?:#(?:\\w{1,8};)?|[A-Za-z]{2,31};))?|&#)";
/** A reference to a mark or a space that is never a part of a name. Others may continue the name. */
const endsName = (more: string): boolean => /^[.-]{0,100}(?![_./-])[\s\p{P}\p{S}]$/u.test(decodeReferences(more).decoded);
const asReference = "&#0{0,5}64;|&#[xX]0{0,5}40;|&commat;";
/** Excludes email addresses, which have a letter or digit before the @. `_@ann_` is a mention in italics. */
const notInAddress = "(?<![A-Za-z0-9]_{0,3})";
const mention = new RegExp(`${notInAddress}(@|${asReference})${account}`, "g");
/**
 * Accounts that carry out commands in comments. They are never notified, even if they participate in the issue. Others are
 * recognised by their payload (`participants`).
 */
const bots =
  /^(?:dependabot|renovate|mergify(?:io)?|coderabbitai|codecov|github-actions|homu|allcontributors|netlify|vercel|snyk|stale|pre-commit-ci|azure-pipelines|copilot|gitlabduo)\b|bot$|\[bot\]$/i;
const groupNames = /^(?:everyone|here|channel|all|team|group)$/i;

/**
 * Maximum number of mentions, or of character references, that are checked. A text with more notifies no one, and with more
 * references, no closing keyword in it works.
 */
const maxMentions = 20_000;

function withoutMentions(text: string, participants: ReadonlySet<string>): string {
  const notifiable = new Set([...participants].filter((name) => !bots.test(name) && !groupNames.test(name)));
  const isCrowded = hasMore(text, "@", maxMentions) || hasMore(text, "&", maxMentions);
  if (isCrowded) return withoutAccounts(withoutSigns(text), notifiable);
  const result = /[@&]/.test(text)
    ? text.replace(mention, (whole, sign: string, name?: string, more?: string) => {
        const known = name !== undefined && (!more || endsName(more)) && notifiable.has(name.toLowerCase());
        return known ? whole : `${sign}${zeroWidthJoiner}`;
      })
    : text;
  return withoutAccounts(result, notifiable);
}

/** Without mentions and without character references, which can spell them. Fast, because a text may consist of them. */
const withoutSigns = (text: string): string =>
  withoutNumericReferences(text.replace(/@(?=[A-Za-z0-9_])/g, `@${zeroWidthJoiner}`)).replaceAll(
    "&commat;",
    `&${zeroWidthJoiner}commat;`,
  );

const withoutNumericReferences = (text: string): string => text.replaceAll("&#", `&${zeroWidthJoiner}#`);

/** A pattern for a word in each spelling that Markdown recognises in the address of a link. */
const spellWord = (word: string, colon: string): string =>
  [...word]
    .map((letter) => `(?:${letter}|&#0{0,5}${letter.charCodeAt(0)};|&#[xX]0{0,5}${letter.charCodeAt(0).toString(16)};)`)
    .join("") + colon;
const markNames: Readonly<Record<string, string>> = { ".": "|&period;", "/": "|&sol;" };
/** A pattern for a text in each spelling that platforms recognise in an address. */
const spellAddress = (text: string): string =>
  [...text]
    .map((sign) => {
      const [code, hex] = [sign.charCodeAt(0), sign.charCodeAt(0).toString(16)];
      return `(?:\\\\?${sign === "." ? "\\." : sign}|&#0{0,5}${code};|&#x0{0,5}${hex};|%${hex}${markNames[sign] ?? ""})`;
    })
    .join("");
/** Linear notifies the owner of a profile whose address a text contains: `https://linear.app/acme/profiles/ann`. */
const profile = new RegExp(
  `${spellAddress("linear.app")}\\S{1,200}?${spellAddress("profiles/")}(?=([\\w.@+-]{0,200})([&%\\\\]?))`,
  "gi",
);
const colon = "(?:\\\\?:|&colon;|&#0{0,5}58;|&#[xX]0{0,5}3[aA];)";
/** Jira's mentions: in wiki markup `[~ann]` and `[~accountid:5b10]`, in Markdown the link `[Ann](accountid:5b10)`. */
const ofAccount = new RegExp(`(?:\\[~|${spellWord("accountid", colon)})(?=(?:accountid:)?([\\w.@:+-]{0,200})([&%\\\\]?))`, "g");

function withoutAccounts(text: string, notified: ReadonlySet<string>): string {
  // `more`: what can continue the name in another spelling.
  const guard = (start: string, id: string, more: string) =>
    !more && (id === "" || notified.has(id.toLowerCase())) ? start : `${start}${zeroWidthJoiner}`;
  return text.replace(ofAccount, guard).replace(profile, guard);
}

/** A pattern for the words, ignoring case. */
const anyOf = (words: string) =>
  words
    .split(" ")
    .map((word) => word.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`))
    .join("|");
const github = "closes closed closing close fixes fixed fixing fix resolves resolved resolving resolve";
const separator = "[:\\s*_(<\\[\\\\]{1,12}(?:[Ii]ssues?\\s{1,4})?";
const reference =
  "(?:[#!&]|[Gg][HhLl]-)\\d|[\\w.-]{1,100}(?:/[\\w.-]{1,100}){1,20}[#!]\\d|https?://[^\\s<>()]{1,300}/(?:issues|work_items|merge_requests|pull|browse|projects)/";
const key = "[A-Z][A-Z0-9_]{1,20}-\\d";
const [gitHubAndGitLab, jiraAndPlane] = [
  "implements implemented implementing implement",
  "completes completed completing complete",
];
const keyword = (words: string, target = "") => new RegExp(`(?<![A-Za-z0-9])(?:${anyOf(words)})${target}`, "g");
/** GitHub's and GitLab's keywords before a reference, and those before the key of an issue at Jira or Plane. */
const closingWords: readonly RegExp[] = [
  keyword(`${github} ${gitHubAndGitLab}`, `(?=${separator}(?:${reference}))`),
  keyword(`${github} ${jiraAndPlane}`, `(?=${separator}${key})`),
];
const anyClosingWord = keyword(`${github} ${gitHubAndGitLab} ${jiraAndPlane}`);
const mayClose = (text: string): boolean => /clos|fix|resolv|implement|complet/i.test(text);
/** Jira's smart commits: `CONF-1 #close`. */
const smartCommit = /^.*(?<![A-Za-z0-9])[A-Z][A-Z0-9_]{1,20}-\d.*$/gm;

function withoutClosing(text: string): string {
  const isCrowded = hasMore(text, "&", maxMentions);
  const result = isCrowded ? withoutNumericReferences(text).replace(anyClosingWord, split) : withoutKeywords(text);
  if (!/\s#[A-Za-z]/.test(result)) return result;
  return result.replace(smartCommit, (line) => line.replace(/(?<=\s)#(?=[A-Za-z])/g, `#${zeroWidthJoiner}`));
}

const split = (word: string): string => `${word[0]}${zeroWidthJoiner}${word.slice(1)}`;

/** Defuses the keywords that are in the text as it is written, and those that are in it once its character references are decoded. */
function withoutKeywords(text: string): string {
  let result = text;
  if (mayClose(result)) for (const pattern of closingWords) result = result.replace(pattern, split);
  if (result.includes("&")) for (const pattern of closingWords) result = withoutSpelled(result, pattern);
  return result;
}

function withoutSpelled(text: string, pattern: RegExp): string {
  const { decoded, startOf } = decodeReferences(text);
  if (decoded === text || !mayClose(decoded)) return text;
  let [result, from] = ["", 0];
  for (const { index } of decoded.matchAll(pattern)) {
    const end = startOf(index + 1);
    result += text.slice(from, end) + zeroWidthJoiner;
    from = end;
  }
  return result + text.slice(from);
}

/** A pattern for lines that begin with one of the commands. It is one pattern because each one reads the whole text. */
const beginningWith = (commands: Readonly<Record<string, RegExp>>, flags: string) =>
  new RegExp(
    `^[^\\S\\n]*(?:${Object.values(commands)
      .map(({ source }) => source)
      .join("|")})`,
    flags,
  );
/** What platforms and bots execute, by platform or bot. `bots` covers mentions of bots. */
const commands: readonly RegExp[] = [
  beginningWith(
    {
      "quick actions of GitLab, Prow, ChatOps, review bots": /\/(?=[A-Za-z_][\w-]*(?:[\s:]|$))/,
      "branch deploys on GitHub": /\.(?=(?:deploy|noop|lock|unlock|rollback|help|wcid)\b)/,
      "bots that an exclamation mark calls": /!(?=[a-z][\w-]*(?:[\s:]|$))/,
    },
    "gm",
  ),
  beginningWith(
    {
      "bors and homu": /[bh](?=(?:ors|omu)(?:[\s:]+)(?:r|try|d|delegate|merge|retry|ping|p=|single|cancel)\b)/,
      "Jenkins and Zuul": /[a-z](?=(?:etest this please|est this please|k to test|dd to (?:allow|white)list|echeck|everify)\b)/,
      "review bots that their name calls": /s(?=weep: )/,
    },
    "gim",
  ),
  // Jenkins, within a line.
  /(?:\br|\bjenkins\b\W{1,5}t)(?=e(?:te)?st this please\b)/gi,
];

const withoutCommands = (text: string): string =>
  commands.reduce((safe, pattern) => safe.replace(pattern, `$&${zeroWidthJoiner}`), text);
