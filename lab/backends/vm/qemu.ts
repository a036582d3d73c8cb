/** The command line of one machine. */
import { join } from 'node:path';
import type { MachineImage } from './image/image.ts';

/** Hardware virtualization where a guest really comes up with it, else emulation. */
export type Accelerator = 'kvm' | 'tcg';

/** Memory of a machine in MiB. An agent takes 110 MB, the station and each pod about 50 MB. */
export const memoryMiB = 384;

/** What QEMU itself takes beside the guest's memory: translated code (tb-size below) and its own, in MiB. Measured: 90. */
export const overheadMiB = 100;

export interface MachineFiles {
  /** Control socket. */
  qmp: string;
  /** Socket of the port whose other end is the ssh daemon that the lab uses. */
  lab: string;
  /** The same for `lab shell`. */
  shell: string;
  /** What the machine prints on its serial console. */
  console: string;
}

export function machineFiles(folder: string, name: string): MachineFiles {
  const file = (suffix: string): string => join(folder, `${name}.${suffix}`);
  return { qmp: file('qmp'), lab: file('ssh'), shell: file('sh'), console: file('console') };
}

export interface MachineOptions {
  name: string;
  image: MachineImage;
  accelerator: Accelerator;
  files: MachineFiles;
  /** Tap device that QEMU makes in the network namespace it is started in. */
  tap: string;
  /**
   * The guest's memory as a file: shared, so that it can be kept, or private, to start from what was kept. Without it the
   * memory is the process's own.
   */
  memory?: { file: string; share: boolean };
  /** Wait for a state instead of booting. */
  incoming?: boolean;
  /** Load what every lab needs before the machine says that it is ready: for a state that is to be kept. */
  warm?: boolean;
}

/**
 * All machines have the same devices, since a saved state fits only a machine with the devices it was saved on. The
 * network device gets its address in the guest, for the same reason.
 */
export function qemuCommand(options: MachineOptions): string[] {
  const { image, files, memory } = options;
  const disk = (id: string, file: string): string[] => [
    ...['-drive', `id=${id},if=none,file=${file},format=raw,readonly=on`],
    ...['-device', `virtio-blk-pci,drive=${id}`],
  ];
  const port = (name: string, path: string): string[] => [
    ...['-chardev', `socket,id=${name},path=${path},server=on,wait=off`],
    ...['-device', `virtserialport,chardev=${name},name=${name}`],
  ];
  return [
    ...['qemu-system-x86_64', '-name', options.name],
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ...['-machine', 'q35,memory-backend=ram'],
    // qemu64 is the fastest under emulation: WireGuard 20-31 Mbit/s where `max` makes 12-15. Without cmpxchg16b: QEMU 7.2
    // emulates it wrongly once in a few million times (an interrupt that falls on it finds flags that are no flags, and the
    // kernel's allocator panics), and the kernel does without.
    ...(options.accelerator === 'kvm'
      ? ['-accel', 'kvm', '-cpu', 'host']
      : ['-accel', 'tcg,thread=multi,tb-size=128', '-cpu', 'qemu64,-cx16']),
    ...['-smp', '1', '-m', String(memoryMiB)],
    '-object',
    memory === undefined
      ? `memory-backend-ram,id=ram,size=${memoryMiB}M`
      : `memory-backend-file,id=ram,size=${memoryMiB}M,mem-path=${memory.file},share=${memory.share ? 'on' : 'off'}`,
    ...['-kernel', image.kernel.vmlinux, '-initrd', image.kernel.initrd],
    // norandmaps: emulation keeps what it has translated by address. With programs at the same addresses every time, what
    // was translated for one `nft` serves the next, and the room for it is not full every few seconds.
    ...[
      '-append',
      `console=ttyS0 loglevel=5 panic=-1 net.ifnames=0 mitigations=off norandmaps${options.warm ? ' lab.warm' : ''}`,
    ],
    ...disk('root', image.root.disk),
    ...disk('modules', image.kernel.modules),
    ...['-device', 'virtio-serial-pci', ...port('lab', files.lab), ...port('shell', files.shell)],
    ...['-netdev', `tap,id=wire,ifname=${options.tap},script=no,downscript=no`],
    ...['-device', 'virtio-net-pci,netdev=wire,romfile='],
    // Tells the guest that it is a copy, so that it draws new randomness.
    ...['-device', 'vmgenid,guid=auto'],
    ...['-serial', `file:${files.console}`],
    ...['-qmp', `unix:${files.qmp},server=on,wait=off`],
    ...(options.incoming ? ['-incoming', 'defer'] : []),
  ];
}
