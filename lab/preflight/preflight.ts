/** Checks a machine before the lab starts: says exactly what is missing and how to get it, and installs it where it may. */
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { $ } from 'zx';
import {
  machineRequirements,
  type Requirement,
  requirements,
  testRequirements,
  userspaceWireguard,
} from './requirements.ts';

/** The machine lacks something; the message says what and gives the command that brings it. */
export class PreflightError extends Error {
  override readonly name = 'PreflightError';
}

/** Debian keeps network tools in sbin, which is not on an ordinary user's PATH. */
const toolFolders = (process.env.KUPORT_TOOL_FOLDERS ?? '/usr/local/sbin:/usr/sbin:/sbin').split(delimiter);
const searchedFolders = [...(process.env.PATH ?? '').split(delimiter), ...toolFolders];

/** Makes programs in sbin findable for this process and all it starts. */
export function widenPath(): void {
  process.env.PATH = [...new Set(searchedFolders)].filter((folder) => folder !== '').join(delimiter);
}

function isMissing({ program }: Requirement): boolean {
  return !searchedFolders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const quiet = $({ quiet: true, nothrow: true });

/** Whether the kernel makes WireGuard interfaces, tried in namespaces of its own. */
async function kernelHasWireguard(): Promise<boolean> {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  return (await quiet`unshare ${user} --net ip link add wg-probe type wireguard`).exitCode === 0;
}

/** Why wireguard-go could make no interface; null where it can. */
function tunTrouble(): string | null {
  const tun = '/dev/net/tun';
  if (!existsSync(tun))
    return `no ${tun}, which wireguard-go needs, and no WireGuard in the kernel.\nIn a container: start it with --device ${tun}; on a machine: modprobe tun (or wireguard)`;
  try {
    accessSync(tun, constants.R_OK | constants.W_OK);
    return null;
  } catch {
    // udev opens it to everyone (mode 0666); where no udev runs it is root's alone, as the kernel makes it.
    const mode = (statSync(tun).mode & 0o777).toString(8).padStart(4, '0');
    return `${tun} is closed to this user (mode ${mode}), and the kernel has no WireGuard: wireguard-go could make no interface.\nOpen it as udev does: sudo chmod 0666 ${tun}`;
  }
}

async function checkNamespaces(): Promise<void> {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const tried =
    await quiet`unshare ${user} --net --mount --pid --fork --kill-child --mount-proc sh -c ${'mount -t tmpfs tmpfs /run && ip link set lo up'}`;
  if (tried.exitCode === 0) return;
  const lines = [`cannot make the lab's private namespaces: ${tried.stderr.trim()}`];
  const setting = (path: string): string | null => (existsSync(path) ? readFileSync(path, 'utf8').trim() : null);
  if (setting('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === '1') {
    lines.push(
      'AppArmor restricts user namespaces here (Ubuntu 24.04 and newer). To allow them until the next boot:',
      '  sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0',
      'To allow them for good: echo kernel.apparmor_restrict_unprivileged_userns=0 | sudo tee /etc/sysctl.d/60-user-namespaces.conf',
    );
  }
  if (setting('/proc/sys/kernel/unprivileged_userns_clone') === '0') {
    lines.push('User namespaces are off here: sudo sysctl kernel.unprivileged_userns_clone=1');
  }
  if (setting('/proc/sys/user/max_user_namespaces') === '0') {
    lines.push('No user namespaces are allowed here: sudo sysctl user.max_user_namespaces=10000');
  }
  lines.push('Or run the same command as root.');
  throw new PreflightError(lines.join('\n'));
}

export interface PreflightOptions {
  /** Install missing Debian packages when this process is root and apt-get is there. */
  install: boolean;
  /** Also check what the project's tests need. Default false. */
  forTests?: boolean;
  /** Also check what labs of virtual machines need. Default false. */
  forMachines?: boolean;
  /** Called with a line for a person when something takes a while. */
  say(line: string): void;
}

/**
 * @throws PreflightError
 */
export async function preflight(options: PreflightOptions): Promise<void> {
  const { install, forTests = false, forMachines = false, say } = options;
  widenPath();
  const wantedPrograms = [
    ...requirements,
    ...(forMachines ? machineRequirements : []),
    ...(forTests ? testRequirements : []),
  ];
  let missing = wantedPrograms.filter(isMissing);
  // Only once ip and unshare are there can the kernel be asked.
  const wireguardGo = async (): Promise<Requirement[]> =>
    isMissing(userspaceWireguard) && !(await kernelHasWireguard()) ? [userspaceWireguard] : [];
  if (missing.length === 0) missing = await wireguardGo();
  else if (isMissing(userspaceWireguard)) missing.push(userspaceWireguard);

  if (missing.length > 0) {
    const packages = [...new Set(missing.map((requirement) => requirement.debianPackage))];
    const wanted = missing.map(({ program, purpose }) => `  ${program} (${purpose})`).join('\n');
    const isRoot = process.getuid?.() === 0;
    const command = `${isRoot ? '' : 'sudo '}apt-get install -y ${packages.join(' ')}`;
    if (!install || !isRoot || !existsSync('/usr/bin/apt-get')) {
      throw new PreflightError(`this machine lacks\n${wanted}\nOn Debian or Ubuntu: ${command}`);
    }
    say(`installing ${packages.join(', ')}`);
    const apt = $({ quiet: true, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
    try {
      await apt`apt-get update`;
      await apt`apt-get install -y --no-install-recommends ${packages}`;
    } catch (error) {
      throw new PreflightError(
        `could not install what is missing\n${wanted}\n\`${command}\` said:\n${(error as { stderr?: string }).stderr ?? String(error)}`,
      );
    }
    const still = wantedPrograms.filter(isMissing).map(({ program }) => program);
    if (still.length > 0)
      throw new PreflightError(`after \`${command}\` there is still no ${still.join(', ')} on this machine`);
  }
  const trouble = tunTrouble();
  if (trouble !== null && !(await kernelHasWireguard())) throw new PreflightError(trouble);
  await checkNamespaces();
}
