/**
 * The state of a machine that has booted, kept to start others from: its memory as a file that all of them map privately
 * (what they do not change is in memory once), and its devices. Five machines start in seconds where a boot takes most of
 * a minute under emulation.
 */
import { closeSync, ftruncateSync, openSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Host } from '../host.ts';
import { buildImage, type Inputs, imageFolder, reasonToBuild } from './image/cache.ts';
import type { MachineImage } from './image/image.ts';
import { bootMachine } from './machine.ts';
import { type Accelerator, type MachineOptions, machineFiles, memoryMiB, qemuCommand } from './qemu.ts';
import { QmpClient } from './qmp.ts';

export interface SavedState {
  /** The guest's memory, byte for byte. */
  memory: string;
  /** Everything else. */
  devices: string;
}

const kindOf = (image: MachineImage, accelerator: Accelerator): string =>
  `state-${accelerator}-${basename(image.kernel.folder)}`;

/** A state fits the devices it was saved on and the QEMU that saved it. */
function stateInputs(image: MachineImage, accelerator: Accelerator, qemuVersion: string): Inputs {
  const { folder: _, ...files } = { ...machineFiles('', ''), folder: '' };
  const anyone: MachineOptions = { name: 'any', image, accelerator, files, tap: 'any' };
  return { qemu: qemuVersion, command: qemuCommand(anyone).join(' ') };
}

function savedState(folder: string): SavedState {
  return { memory: join(folder, 'memory'), devices: join(folder, 'devices') };
}

async function qemuVersion(ground: Host): Promise<string> {
  const { stdout } = await ground.exec(['qemu-system-x86_64', '--version']);
  return stdout.split('\n')[0] ?? '';
}

export interface StateRequest {
  ground: Host;
  image: MachineImage;
  accelerator: Accelerator;
  /** Folder for the sockets of the machine that is saved. */
  folder: string;
}

/** Why a state has to be made first, in words; null when it is there. */
export async function reasonToSave({ ground, image, accelerator }: StateRequest): Promise<string | null> {
  return reasonToBuild(kindOf(image, accelerator), stateInputs(image, accelerator, await qemuVersion(ground)));
}

/**
 * The saved state of machines with that image; made first where there is none, which takes one boot.
 * @throws MachineError when the machine to be saved does not come up; Error with QEMU's words when it cannot be saved
 */
export async function ensureSavedState(request: StateRequest): Promise<SavedState> {
  const { ground, image, accelerator, folder } = request;
  const kind = kindOf(image, accelerator);
  const inputs = stateInputs(image, accelerator, await qemuVersion(ground));
  if (reasonToBuild(kind, inputs) === null) return savedState(imageFolder(kind, inputs));
  return savedState(
    await buildImage(kind, inputs, async (working) => {
      const state = savedState(working);
      const memory = openSync(state.memory, 'w', 0o600);
      ftruncateSync(memory, memoryMiB * 1024 * 1024);
      closeSync(memory);
      const options: MachineOptions = {
        name: 'saved',
        image,
        accelerator,
        files: machineFiles(folder, 'saved'),
        tap: 'saved',
        memory: { file: state.memory, share: true },
        warm: true,
      };
      const machine = await bootMachine({ ground, namespace: null }, options, () => undefined);
      const qmp = await QmpClient.connect('saved', options.files.qmp, 5000);
      await qmp.execute('stop');
      await qmp.execute('migrate-set-capabilities', { capabilities: [{ capability: 'x-ignore-shared', state: true }] });
      await qmp.execute('migrate', { uri: `exec:cat > ${state.devices}` });
      await qmp.migrated(60_000);
      await qmp.execute('quit').catch(() => undefined);
      qmp.close();
      await machine.process.ended;
    }),
  );
}
