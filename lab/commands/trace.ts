/** `lab trace CLIENT udp://203.0.113.9:3000`: one live exchange told hop by hop, by what the hosts counted and tracked. */
import type { Lab } from '../lab.ts';
import { kuportApiVersion, type PortMapObject } from '../scenario/kuport-objects.ts';
import { exchangeRecord } from '../scenario/record.ts';
import { type WitnessedPod, witness } from '../scenario/witness.ts';
import { storyText } from '../terminal/story-text.ts';
import { openTerminal } from '../terminal/terminal.ts';
import { type ProbeTarget, parseTarget } from './probe.ts';

/** How long the client waits for an answer, in namespaces. Milliseconds. */
const answerMs = 2000;

/** @returns 0 when it was answered as it should be, 1 when not */
export async function traceCommand(lab: Lab, clientName: string, text: string, json: boolean): Promise<number> {
  const target = parseTarget(text);
  const client = lab.clients().find((each) => each.name === clientName);
  if (client === undefined)
    throw new Error(
      `no client is named "${clientName}": there are ${lab
        .clients()
        .map(({ name }) => name)
        .join(', ')}`,
    );
  const pod = await mappedPod(lab, target);
  const about = { title: `${clientName} -> ${text}`, client, target, pod: pod ?? undefined, thorough: true };
  const { result, story } = await witness(lab, about, async () => {
    const answer = await lab
      .host(client.name)
      .station.request('probe', { ...target, timeoutMs: lab.pace.packets(answerMs) });
    return { result: answer, record: exchangeRecord(client.name, client.address, target, answer) };
  });
  lab.disconnect();
  if (json) process.stdout.write(`${JSON.stringify(story)}\n`);
  else {
    const terminal = openTerminal();
    for (const line of storyText(story, terminal.colours)) terminal.line(line);
    if (pod === null)
      terminal.line(`no PortMap leads ${target.protocol} port ${target.port} to a pod: nothing was expected of it`);
  }
  return result.outcome === 'answered' && story.difference === undefined ? 0 : 1;
}

/** The pod that a mapping of this port leads to, by its status; null when there is none. */
async function mappedPod(lab: Lab, { protocol, port }: ProbeTarget): Promise<WitnessedPod | null> {
  const { items } = await lab.cluster.list<PortMapObject>(kuportApiVersion, 'PortMap');
  for (const { spec, status } of items) {
    const first = Number(spec.port);
    const isAskedFor = spec.protocol === protocol && port >= first && port <= Number(spec.endPort ?? first);
    if (isAskedFor && status?.endpoint !== undefined) {
      const { pod, node, address } = status.endpoint;
      return { name: pod, node, address };
    }
  }
  return null;
}
