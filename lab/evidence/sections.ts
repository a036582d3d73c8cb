/**
 * Several commands in one process on a host, and their outputs apart again. A process on a host costs 5 ms in a
 * namespace and 165 ms over ssh; fifteen of them on seven hosts would be what a failing scenario mostly waits for.
 */

export interface Section {
  /** Letters, digits, dots and dashes. */
  name: string;
  /** For `sh`: may hold pipes and redirections. */
  command: string;
}

export interface SectionOutput {
  stdout: string;
  /** Exit status of the command. */
  code: number;
}

const MARKER = '@@section';

/** A script for `sh -s` that runs the commands one after the other, whatever becomes of each. */
export function sectionScript(sections: readonly Section[]): string {
  const blocks = sections.map(({ name, command }) => {
    if (!/^[\w.-]+$/.test(name)) throw new Error(`section name ${JSON.stringify(name)}: only letters, digits, . and -`);
    return `printf '\\n${MARKER} begin ${name}\\n'\n( ${command}\n)\nprintf '\\n${MARKER} end ${name} %s\\n' "$?"`;
  });
  return `${blocks.join('\n')}\n`;
}

/**
 * Takes the output of a sectionScript apart. A section that has begun and not ended is returned with code -1: the
 * host went away in the middle.
 */
export function splitSections(stdout: string): Map<string, SectionOutput> {
  const outputs = new Map<string, SectionOutput>();
  const parts = stdout.split(new RegExp(`\\n${MARKER} begin ([\\w.-]+)\\n`));
  for (let index = 1; index + 1 < parts.length; index += 2) {
    const name = parts[index] ?? '';
    const body = parts[index + 1] ?? '';
    const end = new RegExp(`\\n${MARKER} end ${name.replaceAll('.', '\\.')} (\\d+)\\n`).exec(body);
    outputs.set(name, { stdout: end ? body.slice(0, end.index) : body, code: end ? Number(end[1]) : -1 });
  }
  return outputs;
}
