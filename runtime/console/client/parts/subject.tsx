import { Link } from "../route/link.tsx";
import { Text } from "./text.tsx";

/** `alpha:octo/app#12` as people write it: `octo/app#12`. */
export const subjectLabel = (subject: string | null): string => subject?.replace(/^[\w-]+:/, "") ?? "no issue";

/** A link to the page of an issue. */
export function SubjectLink({ subject }: { subject: string | null }) {
  if (subject === null) return <span class="soft">no issue</span>;
  return (
    <Link to="issue" query={{ subject }}>
      <Text>{subjectLabel(subject)}</Text>
    </Link>
  );
}
