/** Hosts that connectors may reach while a source that names them is synchronised. */
export interface EgressAllowlist {
  /** Allows a plugin to reach hosts; call the returned function to revoke it. */
  open(plugin: string, hosts: readonly string[]): () => void;
  hostsOf(plugin: string): readonly string[];
}

export function openEgressAllowlist(): EgressAllowlist {
  const grants = new Set<{ plugin: string; hosts: readonly string[] }>();
  return {
    open: (plugin, hosts) => {
      const one = { plugin, hosts };
      grants.add(one);
      return () => void grants.delete(one);
    },
    hostsOf: (plugin) => [...grants].flatMap((one) => (one.plugin === plugin ? one.hosts : [])),
  };
}
