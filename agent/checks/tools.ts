/** The programs that the agent runs: whether they are there, and new enough. */
import { CommandError, run } from '../datapath/command.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

interface Tool {
  command: string;
  args: readonly string[];
  debianPackage: string;
  /** The oldest release that the rules have been tried with; an older one may not know all of their words. */
  oldest?: string;
}

const tools: readonly Tool[] = [
  { command: 'nft', args: ['--version'], debianPackage: 'nftables', oldest: '1.0.6' },
  { command: 'ip', args: ['-V'], debianPackage: 'iproute2' },
  { command: 'conntrack', args: ['--version'], debianPackage: 'conntrack' },
];

/** Whether a version is below another; parts that are no numbers count as 0. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map((part) => Number.parseInt(part, 10) || 0));
  for (let index = 0; index < 3; index++) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

async function checkTool({ command, args, debianPackage, oldest }: Tool): Promise<Finding> {
  const check = `tools/${command}`;
  let text: string;
  try {
    text = (await run(command, args)).trim();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return failed(check, error.message, `install package ${debianPackage} beside the agent`);
  }
  const version = /\d+(\.\d+)+/.exec(text)?.[0];
  if (oldest !== undefined && version !== undefined && isOlder(version, oldest))
    return warning(check, `${command} ${version}`, `use ${oldest} or newer, the oldest that kuport is tested with`);
  return ok(check, text);
}

export function checkTools(): Promise<Finding[]> {
  return Promise.all(tools.map(checkTool));
}
