/** What an object's status becomes; pure. Each writer changes its own part and leaves the others' as it is. */
import { isDeepStrictEqual } from 'node:util';
import type { Condition, LinkStatus, PortMap, PortMapClass, PortMapStatus } from '../api/types.ts';
import { freeSlot, slotRetentionMs, slotSubnet } from '../plan/links.ts';
import type { NodePlan, PortMapStatusPlan } from '../plan/node-plan.ts';
import { byName } from '../plan/snapshot.ts';

/** Conditions of the types given replace those there are; the time of transition stays while the status does. */
function mergeConditions(have: readonly Condition[], want: readonly Condition[], now: Date): Condition[] {
  const merged = want.map((condition) => {
    const old = have.find((each) => each.type === condition.type);
    const isSame = old?.status === condition.status && old.lastTransitionTime !== undefined;
    return { ...condition, lastTransitionTime: isSame ? old.lastTransitionTime : timestamp(now) };
  });
  const types = new Set(want.map((each) => each.type));
  return [...have.filter((each) => !types.has(each.type)), ...merged].sort((a, b) => byName(a.type, b.type));
}

/** RFC 3339 in whole seconds, as metav1.Time has it. */
function timestamp(now: Date): string {
  return `${now.toISOString().slice(0, 19)}Z`;
}

/**
 * Field by field: run over every mapping in every pass, where building the new status and comparing it in general took
 * most of a pass's time with a thousand of them.
 */
function alreadySays(status: PortMapStatus | undefined, want: PortMapStatusPlan): boolean {
  const { endpoint, published = [], addresses = '', conditions = [] } = status ?? {};
  return (
    endpoint?.node === want.endpoint?.node &&
    endpoint?.pod === want.endpoint?.pod &&
    endpoint?.address === want.endpoint?.address &&
    addresses === want.addresses &&
    published.length === want.published.length &&
    want.published.every((each, index) => {
      const have = published[index];
      return have?.node === each.node && have.interface === each.interface && have.address === each.address;
    }) &&
    want.conditions.every((each) => {
      const have = conditions.find(({ type }) => type === each.type);
      return (
        have?.status === each.status &&
        have.reason === each.reason &&
        have.message === each.message &&
        have.observedGeneration === each.observedGeneration
      );
    })
  );
}

/** @returns null when nothing differs, or when the object has changed since the plan was made */
export function mergePortMapStatus(portMap: PortMap, want: PortMapStatusPlan, now: Date): PortMap | null {
  if ((portMap.metadata.generation ?? 0) !== want.observedGeneration) return null;
  if (portMap.status !== undefined && alreadySays(portMap.status, want)) return null;
  const { endpoint: _, ...kept } = portMap.status ?? {};
  const status = {
    ...kept,
    ...(want.endpoint === null ? {} : { endpoint: want.endpoint }),
    published: want.published,
    addresses: want.addresses,
    conditions: mergeConditions(portMap.status?.conditions ?? [], want.conditions, now),
  };
  return { ...portMap, status };
}

/** The part of a plan that concerns one class. */
export interface ClassStatusPlan {
  className: string;
  node: string;
  claims: NodePlan['claims'];
  linkChanges: NodePlan['linkChanges'];
  conditions: Condition[];
  /** Nodes whose rows go. */
  goneNodes: string[];
  row: NodePlan['classNodeStatuses'][number]['row'] | null;
}

export function classStatusPlan(plan: NodePlan, className: string): ClassStatusPlan {
  const ofClass = (each: { className: string }): boolean => each.className === className;
  return {
    className,
    node: plan.node,
    claims: plan.claims.filter(ofClass),
    linkChanges: plan.linkChanges.filter(ofClass),
    conditions: plan.classConditions.filter(ofClass).map((each) => each.condition),
    goneNodes: plan.classConditions.filter(ofClass).flatMap((each) => each.goneNodes),
    row: plan.classNodeStatuses.find(ofClass)?.row ?? null,
  };
}

/** @returns null when nothing differs */
export function mergeClassStatus(portMapClass: PortMapClass, want: ClassStatusPlan, now: Date): PortMapClass | null {
  const { links = [], nodes = [], conditions = [] } = portMapClass.status ?? {};
  const others = nodes.filter((row) => row.name !== want.node && !want.goneNodes.includes(row.name));
  const rows = [...others, ...(want.row === null ? [] : [want.row])];
  const status = {
    ...portMapClass.status,
    links: mergeLinks(portMapClass, want, now),
    nodes: rows.sort((a, b) => byName(a.name, b.name)),
    conditions: mergeConditions(conditions, want.conditions, now),
  };
  const have = { ...portMapClass.status, links, nodes: [...nodes].sort((a, b) => byName(a.name, b.name)), conditions };
  return isDeepStrictEqual(status, have) ? null : { ...portMapClass, status };
}

function mergeLinks(portMapClass: PortMapClass, want: ClassStatusPlan, now: Date): LinkStatus[] {
  let links = [...(portMapClass.status?.links ?? [])];
  for (const { key, change } of want.linkChanges) {
    links = links.flatMap((link): LinkStatus[] => {
      if (link.key !== key) return [link];
      const { unusedSince, ...used } = link;
      if (change === 'used') return [used];
      if (change === 'unused') return [{ ...used, unusedSince: unusedSince ?? timestamp(now) }];
      // Judged by the object as it is now: somebody may have taken the link into use since the plan was made.
      const isOver = unusedSince !== undefined && now.getTime() - Date.parse(unusedSince) >= slotRetentionMs;
      return isOver ? [] : [link];
    });
  }
  for (const { key, peers, foreignVnis } of want.claims) {
    if (links.some((link) => link.key === key)) continue;
    const slot = freeSlot({ ...portMapClass, status: { ...portMapClass.status, links } }, foreignVnis);
    // The plan says SubnetExhausted or InvalidSubnet; there is nothing to record.
    if (slot === null) continue;
    links.push({ key, peers, slot, subnet: slotSubnet(portMapClass, slot).text });
  }
  return links.sort((a, b) => byName(a.key, b.key));
}
