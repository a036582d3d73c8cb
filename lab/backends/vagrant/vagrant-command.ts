/** How the lab calls Vagrant: every lab has Vagrant's state in a folder of its own, so that labs do not see each other. */
import { join } from 'node:path';
import { projectRoot } from '../../project.ts';
import type { OutsideCommand } from '../netns/last-command.ts';

export const vagrantProviders = ['libvirt', 'virtualbox'] as const;
export type VagrantProvider = (typeof vagrantProviders)[number];

export interface VagrantPlace {
  lab: string;
  /** The lab's folder. */
  folder: string;
  provider: VagrantProvider;
  /** Hosts that are machines, beside world. */
  machines: readonly string[];
}

/** The machine that holds every host that is no machine itself. */
export const worldMachine = 'world';

/** What a machine takes at most on average, in MiB: the Vagrantfile gives nodes 512 and world 1024; QEMU takes 100. */
export const vagrantMemoryMiB = 750;

/** File of the lab's folder that tells the Vagrantfile the topology. */
export function topologyFile(folder: string): string {
  return join(folder, 'topology.json');
}

/** @param args of vagrant */
export function vagrantCommand(place: VagrantPlace, ...args: string[]): OutsideCommand {
  // What the user has told Vagrant (VAGRANT_HOME) and the Vagrantfile (the box) holds for the last command too, whoever
  // runs that.
  const told = Object.entries(process.env).filter(
    (entry): entry is [string, string] => /^(KUPORT_)?VAGRANT_/.test(entry[0]) && entry[1] !== undefined,
  );
  return {
    argv: ['vagrant', ...args],
    env: {
      ...Object.fromEntries(told),
      VAGRANT_CWD: projectRoot,
      VAGRANT_DOTFILE_PATH: join(place.folder, 'vagrant'),
      VAGRANT_DEFAULT_PROVIDER: place.provider,
      VAGRANT_NO_COLOR: '1',
      VAGRANT_CHECKPOINT_DISABLE: '1',
      KUPORT_VAGRANT_LAB: place.lab,
      KUPORT_VAGRANT_TOPOLOGY: topologyFile(place.folder),
      KUPORT_VAGRANT_MACHINES: place.machines.join(','),
    },
  };
}
