/** All that can be said of a node without the cluster. */
import type { CommandError } from '../datapath/command.ts';
import { readIpState } from '../datapath/ip-json.ts';
import { type Finding, failed } from './finding.ts';
import { checkReplies } from './replies.ts';
import { checkRules } from './rules.ts';
import { checkSettings } from './settings.ts';

/** A check that could not be made says so in its place. */
async function attempt(check: string, work: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await work();
  } catch (error) {
    const [found = ''] = (error as CommandError).message.split('\n');
    return [failed(check, found, 'this check could not be made: see tools and kernel')];
  }
}

/** What may change while the agent runs; a few commands, none of which writes. */
export async function checkHost(): Promise<Finding[]> {
  const found = await attempt('host/ip', async () => {
    const ip = await readIpState();
    return [...(await attempt('host/settings', () => checkSettings(ip.links))), checkRules(ip.rules)];
  });
  return [...found, ...(await attempt('host/replies', async () => [await checkReplies()]))];
}
