/** Events are stored as core v1 and shown as events.k8s.io/v1 too: the same objects under other field names. */
import type { KubeObject } from './object.ts';

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
