/** Checks what a lab of Vagrant's machines needs: Vagrant, a provider it can use, and that the provider answers. */
import { existsSync } from 'node:fs';
import { $ } from 'zx';
import { type VagrantProvider, vagrantProviders } from '../backends/vagrant/vagrant-command.ts';
import { PreflightError, widenPath } from './preflight.ts';

const quiet = $({ quiet: true, nothrow: true });

const getVagrant =
  'On Debian or Ubuntu: sudo apt-get install -y vagrant (or from https://developer.hashicorp.com/vagrant/install)';
const getLibvirt =
  'libvirt, on Debian or Ubuntu: sudo apt-get install -y vagrant-libvirt libvirt-daemon-system dnsmasq-base qemu-system-x86';
const getPlugin = "with HashiCorp's own Vagrant: vagrant plugin install vagrant-libvirt";
const getVirtualbox = 'VirtualBox: https://www.virtualbox.org/wiki/Linux_Downloads';

async function isThere(program: string): Promise<boolean> {
  return (await quiet`sh -c ${'command -v "$0"'} ${program}`).exitCode === 0;
}

/** Where libvirt's daemons listen: the one for everything, and the one for QEMU alone. */
const libvirtSockets = ['/run/libvirt/libvirt-sock', '/run/libvirt/virtqemud-sock', '/var/run/libvirt/libvirt-sock'];

/**
 * @param wanted provider the user asked for; without it libvirt where it is there, else VirtualBox
 * @returns the provider to use
 * @throws PreflightError saying what is missing and the command that brings it
 */
export async function vagrantPreflight(wanted?: string): Promise<VagrantProvider> {
  widenPath();
  if (!(await isThere('vagrant')))
    throw new PreflightError(`this machine lacks vagrant (virtual machines)\n${getVagrant}`);
  const listed = await quiet`vagrant plugin list`;
  if (listed.exitCode !== 0) {
    throw new PreflightError(
      `\`vagrant plugin list\` exited ${listed.exitCode}: ${`${listed.stdout}${listed.stderr}`.trim()}`,
    );
  }
  const has: Record<VagrantProvider, boolean> = {
    libvirt: /^vagrant-libvirt\b/m.test(listed.stdout),
    virtualbox: await isThere('VBoxManage'),
  };
  const asked = wanted ?? process.env.VAGRANT_DEFAULT_PROVIDER;
  const provider = vagrantProviders.find((each) => (asked === undefined ? has[each] : each === asked));
  if (provider === undefined) {
    if (asked !== undefined) {
      throw new PreflightError(
        `the lab's Vagrantfile knows no provider "${asked}": it knows ${vagrantProviders.join(', ')}`,
      );
    }
    throw new PreflightError(
      `Vagrant has no provider here that the lab can use\n${getLibvirt}\n${getPlugin}\n${getVirtualbox}`,
    );
  }
  if (!has[provider]) {
    const way = provider === 'libvirt' ? `${getLibvirt}\n${getPlugin}` : getVirtualbox;
    throw new PreflightError(`Vagrant's provider ${provider} is not there\n${way}`);
  }
  if (provider === 'libvirt') await checkLibvirt();
  return provider;
}

async function checkLibvirt(): Promise<void> {
  if (!libvirtSockets.some((socket) => existsSync(socket))) {
    throw new PreflightError('libvirt does not run here: sudo systemctl start libvirtd');
  }
  if (!(await isThere('virsh'))) return;
  const asked = await quiet`virsh --connect qemu:///system version`;
  if (asked.exitCode === 0) return;
  throw new PreflightError(
    `libvirt does not let this user in: ${asked.stderr.trim()}\nsudo usermod -aG libvirt "$USER", then log in anew`,
  );
}
