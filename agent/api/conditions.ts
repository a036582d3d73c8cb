/** Every condition and reason kuport writes, in one place. */
import type { Condition } from './types.ts';

export type AcceptedReason =
  | 'Valid'
  | 'ClassNotFound'
  | 'InvalidPortRange'
  | 'NamespaceNotSelected'
  | 'PortOutOfRange'
  | 'PortReserved'
  | 'InterfaceNotInClass'
  | 'RangeTranslation'
  | 'PortConflict'
  | 'PortInUse';

export type ProgrammedReason =
  | 'Programmed'
  | 'NotAccepted'
  | 'NoReadyEndpoint'
  | 'ReturnPathUnavailable'
  | 'NodeNotReady'
  | 'NoInterfaceOnNode'
  | 'CNIBypassesHost'
  | 'LinkPending';

export type ClassReason =
  | 'Valid'
  | 'InvalidSubnet'
  | 'SubnetExhausted'
  | 'VxlanPortConflict'
  | 'LinkRangeConflict'
  | 'UnderlayAmbiguous';

export interface Verdict<Reason extends string> {
  ok: boolean;
  reason: Reason;
  message: string;
}

/** Longest message, in characters: enough to read, far below what the CRDs allow. A list of many nodes is cut. */
const messageLimit = 1024;

export function shortMessage(message: string): string {
  return message.length <= messageLimit ? message : `${message.slice(0, messageLimit - 1)}…`;
}

export function condition(type: string, verdict: Verdict<string>, observedGeneration: number): Condition {
  return {
    type,
    status: verdict.ok ? 'True' : 'False',
    reason: verdict.reason,
    message: shortMessage(verdict.message),
    observedGeneration,
  };
}
