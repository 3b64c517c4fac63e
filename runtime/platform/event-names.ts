interface EventName {
  readonly event_name: string;
  readonly action: string | null;
}

/** The names by which mappings know the events of the sources. */
export interface EventNames {
  /** An event as the mappings name it, if a source names it otherwise: `gamma:issue_created` for Jira's `jira:issue_created`. */
  read(source: string, sent: EventName): Promise<EventName>;
  /** Refuses the platform's own name of an event that mappings know by another. `field`: the member with the name. */
  check(source: string, eventName: string, field: string): Promise<void>;
}
