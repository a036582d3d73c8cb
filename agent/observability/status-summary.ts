/** A status in few words, for the log. */
import type { PortMap, PortMapClass } from '../api/types.ts';
import { objectKey } from '../cluster/resources.ts';

export function statusSummary(object: PortMap | PortMapClass): string {
  const conditions = (object.status?.conditions ?? []).map(
    ({ type, status, reason, message }) => `${type}=${status} ${reason}${message === '' ? '' : ` (${message})`}`,
  );
  const endpoint = object.kind === 'PortMap' ? (object as PortMap).status?.endpoint : undefined;
  const links =
    object.kind === 'PortMapClass'
      ? ((object as PortMapClass).status?.links ?? []).map(
          ({ key, slot, unusedSince }) => `link ${key} slot ${slot}${unusedSince === undefined ? '' : ' unused'}`,
        )
      : [];
  const rows =
    object.kind === 'PortMapClass'
      ? ((object as PortMapClass).status?.nodes ?? []).map(
          ({ name, ready, message, takenPorts = [] }) =>
            `node ${name} ${ready ? 'ready' : `not ready: ${message}`} (${takenPorts.length} ports taken)`,
        )
      : [];
  return [
    `${object.kind} ${objectKey(object)}`,
    ...(endpoint === undefined ? [] : [`endpoint ${endpoint.pod} ${endpoint.address} on ${endpoint.node}`]),
    ...conditions,
    ...links,
    ...rows,
  ].join(', ');
}
