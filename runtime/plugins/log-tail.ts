interface LogLine {
  readonly time: string;
  readonly message: string;
  readonly fields: Record<string, unknown>;
}
/** The last lines that each plugin logged on this replica. */
export interface LogTail {
  add(plugin: string, message: string, fields: Readonly<Record<string, unknown>>): void;
  of(plugin: string): readonly LogLine[];
}

const maxLines = 200;

export function createLogTail(): LogTail {
  const lines = new Map<string, LogLine[]>();
  return {
    add: (plugin, message, fields) => {
      const own = lines.get(plugin) ?? [];
      lines.set(plugin, own);
      own.push({ time: new Date().toISOString(), message, fields: { ...fields } });
      if (own.length > maxLines) own.splice(0, own.length - maxLines);
    },
    of: (plugin) => lines.get(plugin) ?? [],
  };
}
