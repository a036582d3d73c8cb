/** Sets up a machine that Vagrant has booted, as Vagrant's own user, up to where the lab takes it over. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../project.ts';
import { machineInstallation } from '../machines/machine-backend.ts';
import { quote } from '../machines/shell-words.ts';
import { loadSsh } from '../ssh/load.ts';
import type { CommandEnd } from '../ssh/ssh-connection.ts';
import { guestNode } from '../vm/image/guest-node.ts';
import { guestFile as imageFile, packages } from '../vm/image/root.ts';
import { MachineError } from '../vm/machine.ts';
import type { MachineAddress } from './ssh-config.ts';

/** Milliseconds for the connection: Vagrant has waited for the machine's ssh daemon already. */
const sshMs = 60_000;

function guestFile(name: string): string {
  return readFileSync(join(projectRoot, 'lab', 'backends', 'vagrant', 'guest', name), 'utf8');
}

/** Older ones lack what the programs are built for. */
const oldestNode = 20;

/**
 * Installs what the machine lacks, copies the project's programs, and moves Vagrant's own network card out of the way: the
 * machine then answers to root, with the same key at the same address.
 * @param programs file made by packPrograms
 * @throws MachineError with the words of the step that failed
 */
export async function provisionMachine(
  { machine, address, port, username, privateKey }: MachineAddress,
  programs: string,
  reached: (milestone: string) => void,
): Promise<void> {
  const { SshConnection } = await loadSsh();
  const connection = await SshConnection.open({
    ...{ machine, target: { address, port }, username, privateKey, timeoutMs: sshMs },
  });
  const asRoot = username === 'root' ? '' : 'sudo -n ';
  const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const run = async (what: string, script: string, args = '', inputFile?: string): Promise<CommandEnd> => {
    const end = await connection.run(`${asRoot}env ${path} sh -c ${quote(script)} ${quote(what)} ${args}`, inputFile);
    if (end.code !== 0) {
      const said = `${end.stdout}\n${end.stderr}`.trim().slice(-2000);
      throw new MachineError(`machine ${machine}: ${what} exited ${end.code}: ${said}`);
    }
    return end;
  };
  try {
    await run('installing packages', guestFile('packages.sh'), packages.join(' '));
    reached('packages');
    await installNode(machine, run);
    const { root } = machineInstallation;
    await run('copying programs', `set -e; mkdir -p ${root}; gzip -dc | tar -x -C ${root}`, '', programs);
    reached('programs');
    const daemon = imageFile('sshd.conf') + guestFile('sshd.conf');
    const script = `printf %s ${quote(daemon)} | { ${guestFile('move-management.sh')}\n}`;
    await run('setting up its management network', script, '"$SSH_CONNECTION" "$HOME"');
  } finally {
    connection.end();
  }
}

type Run = (what: string, script: string, args?: string, inputFile?: string) => Promise<CommandEnd>;

async function installNode(machine: string, run: Run): Promise<void> {
  const version = async (): Promise<string> =>
    (await run('looking for Node.js', 'node --version || echo none')).stdout.trim();
  const fits = (text: string): boolean => Number(/^v(\d+)\./.exec(text)?.[1] ?? 0) >= oldestNode;
  if (fits(await version())) return;
  const { file } = await guestNode();
  if (file === null) await run('installing Node.js', guestFile('packages.sh'), 'nodejs');
  else await run('copying Node.js', 'set -e; cat > /usr/local/bin/node; chmod 755 /usr/local/bin/node', '', file);
  const now = await version();
  if (fits(now)) return;
  throw new MachineError(
    `machine ${machine}: it has Node.js ${now}, and the lab's programs need ${oldestNode}: choose a newer box with KUPORT_VAGRANT_BOX`,
  );
}
