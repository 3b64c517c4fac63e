/** A node of the Atlassian Document Format. */
export interface AdfNode {
  readonly type: string;
  readonly text?: string;
  readonly attrs?: Readonly<Record<string, unknown>>;
  readonly marks?: readonly AdfMark[];
  readonly content?: readonly AdfNode[];
}
export interface AdfMark {
  readonly type: string;
  readonly attrs?: Readonly<Record<string, unknown>>;
}
export interface AdfDocument extends AdfNode {
  readonly type: "doc";
  readonly version: 1;
  readonly content: readonly AdfNode[];
}
