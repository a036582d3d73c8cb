/** Values of fields that are left out; the CRDs say the same, for whoever reads the objects. */
import type { PortMapClass, ServingMode } from './types.ts';

export interface VxlanSettings {
  /** First VNI: a link's is this plus its slot. */
  vni: number;
  /** UDP port of the outer packets. */
  port: number;
  /** Prefix out of which each link gets a /31. */
  subnet: string;
  underlayInterface: string | undefined;
}

export function servingMode(portMapClass: PortMapClass): ServingMode {
  return portMapClass.spec.servingMode ?? 'Single';
}

export function vxlanSettings(portMapClass: PortMapClass): VxlanSettings {
  const {
    vni = 4242,
    port = 4790,
    subnet = '169.254.77.0/24',
    underlayInterface,
  } = portMapClass.spec.returnPath.vxlan ?? {};
  return { vni, port, subnet, underlayInterface };
}

export function allowedPorts(portMapClass: PortMapClass): { min: number; max: number; reserved: number[] } {
  const { min = 1, max = 65535, reserved = [] } = portMapClass.spec.ports ?? {};
  return { min, max, reserved };
}
