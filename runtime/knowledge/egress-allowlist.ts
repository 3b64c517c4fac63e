/** The hosts that connectors may reach, because sources that are being synced name them. */
export interface Reach {
  /** Lets a plugin reach hosts until the function that it answers with is called. */
  open(plugin: string, hosts: readonly string[]): () => void;
  hostsOf(plugin: string): readonly string[];
}

export function openEgressAllowlist(): Reach {
  const all = new Set<{ plugin: string; hosts: readonly string[] }>();
  return {
    open: (plugin, hosts) => {
      const one = { plugin, hosts };
      all.add(one);
      return () => void all.delete(one);
    },
    hostsOf: (plugin) => [...all].flatMap((one) => (one.plugin === plugin ? one.hosts : [])),
  };
}
