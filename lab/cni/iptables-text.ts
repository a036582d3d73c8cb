/** The text that `iptables-save` writes and `iptables-restore` reads, taken apart and put together again. */

export interface IptablesTable {
  name: string;
  /** Declarations such as `:INPUT ACCEPT` or `:CILIUM_INPUT -`, in order, without counters: those of another node mean nothing. */
  chains: string[];
  /** `-A CHAIN ...`, in order. */
  rules: string[];
}

export function parseIptables(text: string): IptablesTable[] {
  const tables: IptablesTable[] = [];
  for (const line of text.split('\n')) {
    const table = tables.at(-1);
    if (line.startsWith('*')) tables.push({ name: line.slice(1), chains: [], rules: [] });
    else if (line.startsWith(':')) table?.chains.push(line.replace(/ \[\d+:\d+\]$/, ''));
    else if (line.startsWith('-')) table?.rules.push(line);
  }
  return tables;
}

/** Tables that have neither chain nor rule are left out. */
export function formatIptables(tables: readonly IptablesTable[]): string {
  return tables
    .filter(({ chains, rules }) => chains.length + rules.length > 0)
    .map(({ name, chains, rules }) => {
      const declared = chains.map((chain) => `${chain} [0:0]`);
      return `${[`*${name}`, ...declared, ...rules, 'COMMIT'].join('\n')}\n`;
    })
    .join('');
}

/** `:KUBE-SERVICES -` -> `KUBE-SERVICES`. */
export function chainName(declaration: string): string {
  return declaration.slice(1, declaration.indexOf(' '));
}

/** The chain a rule stands in. */
export function chainOf(rule: string): string {
  return rule.split(' ', 2)[1] ?? '';
}

/** Each table with only the chains and rules that `wanted` is true of. */
export function selectLines(tables: readonly IptablesTable[], wanted: (line: string) => boolean): IptablesTable[] {
  return tables.map(({ name, chains, rules }) => ({
    name,
    chains: chains.filter(wanted),
    rules: rules.filter(wanted),
  }));
}
