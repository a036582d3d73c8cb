/** What `vagrant ssh-config` says: where each machine's ssh daemon is, and who is let in with which key. */

export interface MachineAddress {
  machine: string;
  address: string;
  port: number;
  username: string;
  /** Path of the private key. */
  privateKey: string;
}

/** @throws Error naming the machine that has no such entry, or one that the lab's ssh client cannot use */
export function parseSshConfig(text: string, machines: readonly string[]): MachineAddress[] {
  const entries = new Map<string, Map<string, string>>();
  let entry = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, key, value] = /^\s*(\w+)\s+(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined || value === undefined) continue;
    if (key === 'Host') {
      entry = new Map();
      entries.set(value, entry);
    } else if (!entry.has(key)) entry.set(key, value.replace(/^"(.*)"$/, '$1'));
  }
  return machines.map((machine) => {
    const found = entries.get(machine);
    if (found === undefined) {
      throw new Error(
        `\`vagrant ssh-config\` has no machine ${machine}: it has ${[...entries.keys()].join(', ') || 'none'}`,
      );
    }
    const field = (key: string): string => {
      const value = found.get(key);
      if (value === undefined) throw new Error(`\`vagrant ssh-config\` says no ${key} for ${machine}`);
      return value;
    };
    if (found.has('ProxyCommand')) {
      throw new Error(
        `machine ${machine} is reached by a ProxyCommand (${field('ProxyCommand')}), which the lab cannot use: run it on the machine that has the provider`,
      );
    }
    return {
      machine,
      address: field('HostName'),
      port: Number(field('Port')),
      username: field('User'),
      privateKey: field('IdentityFile'),
    };
  });
}
