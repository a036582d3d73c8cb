/** Events are stored as core v1 and shown as events.k8s.io/v1 too: the same objects under other field names. */
import { type KubeObject, textAt } from './object.ts';
import type { Cause } from './status.ts';

/** events.k8s.io/v1 name -> core v1 name. */
const names: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['reportingController', 'reportingComponent'],
];

function renamed(object: KubeObject, apiVersion: string, pairs: readonly (readonly [string, string])[]): KubeObject {
  const to = new Map(pairs);
  const fields = Object.entries(object).map(([name, value]) => [to.get(name) ?? name, value]);
  return { ...(Object.fromEntries(fields) as KubeObject), apiVersion };
}

export function eventToCore(event: KubeObject): KubeObject {
  return renamed(event, 'v1', names);
}

export function eventFromCore(event: KubeObject): KubeObject {
  return renamed(
    event,
    'events.k8s.io/v1',
    names.map(([modern, core]) => [core, modern]),
  );
}

/** Longest texts that the real server takes, in bytes of UTF-8. */
const limits = { action: 128, reason: 128, reportingInstance: 128, note: 1024 } as const;

/** What the real server asks of a new events.k8s.io/v1 object; of older forms it asks less. */
export function checkEvent(event: KubeObject, previous: KubeObject | undefined): Cause[] {
  if (previous !== undefined) return [];
  const causes: Cause[] = [];
  const needed = ['eventTime', 'reportingController', 'reportingInstance', 'action', 'reason'];
  for (const field of needed) {
    if (textAt(event, field) === '') causes.push({ reason: 'FieldValueRequired', field, message: 'Required value' });
  }
  for (const [field, limit] of Object.entries(limits)) {
    if (Buffer.byteLength(textAt(event, field)) > limit) {
      const message = `Invalid value: "": can have at most ${limit} characters`;
      causes.push({ reason: 'FieldValueInvalid', field, message });
    }
  }
  if (!['Normal', 'Warning'].includes(textAt(event, 'type'))) {
    const message = `Invalid value: ${JSON.stringify(textAt(event, 'type'))}: has invalid value: ${textAt(event, 'type')}`;
    causes.push({ reason: 'FieldValueInvalid', field: 'type', message });
  }
  // An object without a namespace has its events in `default`.
  const namespace = textAt(event, 'regarding', 'namespace');
  const home = namespace === '' ? ['default', 'kube-system'] : [namespace];
  if (!home.includes(event.metadata.namespace ?? '')) {
    const message = `Invalid value: ${JSON.stringify(namespace)}: does not match event.namespace`;
    causes.push({ reason: 'FieldValueInvalid', field: 'involvedObject.namespace', message });
  }
  return causes;
}
