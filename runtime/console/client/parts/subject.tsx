import { Link } from "../route/link.tsx";
import { Text } from "./text.tsx";

/** `alpha:octo/app#12` in the platform's usual form: `octo/app#12`. */
export const subjectLabel = (subject: string | null): string => subject?.replace(/^[\w-]+:/, "") ?? "no issue";

interface SubjectProps {
  readonly subject: string | null;
  readonly title?: string | null | undefined;
}

/** The name of an issue: its title, if it is known, and its number. */
export function Subject({ subject, title }: SubjectProps) {
  const label = <Text>{subjectLabel(subject)}</Text>;
  if (!title) return label;
  return (
    <>
      <Text max={120}>{title}</Text> <span class="soft">{label}</span>
    </>
  );
}

/** A link to the page of an issue. */
export function SubjectLink({ subject, title }: SubjectProps) {
  if (subject === null) return <span class="soft">no issue</span>;
  return (
    <Link to="issue" query={{ subject }}>
      <Subject subject={subject} title={title} />
    </Link>
  );
}
