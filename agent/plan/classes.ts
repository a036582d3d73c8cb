/** Whether a class can be served as it is written. */
import type { ClassReason, Verdict } from '../api/conditions.ts';
import { vxlanSettings } from '../api/defaults.ts';
import type { PortMapClass } from '../api/types.ts';
import { cniTunnelPort } from './cni.ts';
import { overlap, parseSubnet } from './ipv4.ts';
import { slotCount, usedVnis } from './links.ts';
import { byName, type ClusterSnapshot } from './snapshot.ts';
import { sharedUnderlay } from './underlay.ts';

function refuse(reason: ClassReason, message: string): Verdict<ClassReason> {
  return { ok: false, reason, message };
}

const valid: Verdict<ClassReason> = { ok: true, reason: 'Valid', message: '' };

function byAge(a: PortMapClass, b: PortMapClass): number {
  const created = (each: PortMapClass): string => each.metadata.creationTimestamp ?? '';
  return byName(created(a), created(b)) || byName(a.metadata.name, b.metadata.name);
}

/**
 * Verdict per class name. Of two classes that collide the older one stays valid. Their links can meet on any node that
 * runs pods of both, so classes collide whatever their accepting nodes are.
 */
export function judgeClasses({ classes, cniConfig }: ClusterSnapshot): Map<string, Verdict<ClassReason>> {
  const tunnelPort = cniTunnelPort(cniConfig);
  const verdicts = new Map<string, Verdict<ClassReason>>();
  const older: PortMapClass[] = [];
  for (const portMapClass of [...classes].sort(byAge)) {
    const verdict = judge(portMapClass, older, tunnelPort);
    verdicts.set(portMapClass.metadata.name, verdict);
    if (!isUnusable(verdict) && portMapClass.spec.returnPath.mode === 'Vxlan') older.push(portMapClass);
  }
  return verdicts;
}

/** Whether no link of a class can be built. With other troubles those that have what they need go on. */
export function isUnusable(verdict: Verdict<ClassReason>): boolean {
  return !verdict.ok && verdict.reason !== 'UnderlayAmbiguous' && verdict.reason !== 'SubnetExhausted';
}

/** What a class with a valid spec says once mappings have been found to want more links than it has room for. */
export function subnetExhausted(portMapClass: PortMapClass): Verdict<ClassReason> {
  const { subnet } = vxlanSettings(portMapClass);
  return refuse(
    'SubnetExhausted',
    `all ${slotCount(portMapClass)} link slots of spec.returnPath.vxlan.subnet ${subnet} are taken: use a larger subnet, or another class; unused slots are free after 24 hours`,
  );
}

function judge(portMapClass: PortMapClass, older: readonly PortMapClass[], tunnelPort: number): Verdict<ClassReason> {
  if (portMapClass.spec.returnPath.mode === 'None') return valid;
  const settings = vxlanSettings(portMapClass);
  const subnet = parseSubnet(settings.subnet);
  if (subnet === null || subnet.size < 2) {
    return refuse(
      'InvalidSubnet',
      `spec.returnPath.vxlan.subnet "${settings.subnet}" is no IPv4 network with room for a /31, such as 169.254.77.0/24`,
    );
  }
  if (settings.port === tunnelPort) {
    return refuse(
      'VxlanPortConflict',
      `spec.returnPath.vxlan.port ${settings.port} is the CNI's own tunnel port: use another, such as ${tunnelPort === 4790 ? 4791 : 4790}`,
    );
  }
  for (const other of older) {
    const theirs = vxlanSettings(other);
    const theirSubnet = parseSubnet(theirs.subnet);
    if (theirSubnet !== null && overlap(subnet, theirSubnet)) {
      return refuse(
        'LinkRangeConflict',
        `spec.returnPath.vxlan.subnet ${settings.subnet} overlaps ${theirs.subnet} of class ${other.metadata.name}, which is older: give this class its own`,
      );
    }
    // Ranges may run into one another: a claim passes over the VNIs that others hold. The same first VNI cannot be meant.
    const theirVnis = usedVnis(other);
    const shared = usedVnis(portMapClass).find((vni) => theirVnis.includes(vni));
    if (settings.port === theirs.port && (settings.vni === theirs.vni || shared !== undefined)) {
      return refuse(
        'LinkRangeConflict',
        `spec.returnPath.vxlan.vni ${settings.vni} on UDP port ${settings.port} collides with class ${other.metadata.name} at VNI ${shared ?? theirs.vni}, which is older: give this class its own vni`,
      );
    }
  }
  const shared = sharedUnderlay(portMapClass);
  if (shared === null) return valid;
  return refuse(
    'UnderlayAmbiguous',
    `nodes ${shared.nodes.join(' and ')} both report underlay address ${shared.address}: set spec.returnPath.vxlan.underlayInterface`,
  );
}
