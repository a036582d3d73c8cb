/** One agent's part in a class's status, which all agents write together. */
import type { Condition, LinkStatus, PortMapClass } from '../api/types.ts';
import { freeSlot, slotSubnet } from '../plan/links.ts';
import type { NodePlan } from '../plan/node-plan.ts';
import { byName } from '../plan/snapshot.ts';

type Status = NonNullable<PortMapClass['status']>;

/** Conditions with `next` in place of its type's; its transition time is the old one while the status is the same. */
export function withCondition(conditions: readonly Condition[], next: Condition, now: string): Condition[] {
  const old = conditions.find((each) => each.type === next.type);
  const lastTransitionTime = old?.status === next.status ? (old.lastTransitionTime ?? now) : now;
  return [...conditions.filter((each) => each.type !== next.type), { ...next, lastTransitionTime }].sort((a, b) =>
    byName(a.type, b.type),
  );
}

/**
 * The class's status with this node's row, claims and books in it and everybody else's part untouched.
 * @param now RFC 3339
 */
export function mergeClassStatus(portMapClass: PortMapClass, plan: NodePlan, now: string): Status {
  const { name } = portMapClass.metadata;
  const status = portMapClass.status ?? {};
  const row = plan.classNodeStatuses.find((each) => each.className === name)?.row;
  const nodes = [
    ...(status.nodes ?? []).filter((each) => each.name !== plan.node),
    ...(row === undefined ? [] : [row]),
  ];
  let links = changedLinks(status.links ?? [], plan, name, now);
  for (const { key, peers } of plan.claims.filter((each) => each.className === name)) {
    if (links.some((link) => link.key === key)) continue;
    const slot = freeSlot({ ...portMapClass, status: { ...status, links } });
    if (slot !== null) links = [...links, { key, peers, slot, subnet: slotSubnet(portMapClass, slot).text }];
  }
  const condition = plan.classConditions.find((each) => each.className === name)?.condition;
  return {
    ...status,
    links: links.sort((a, b) => byName(a.key, b.key)),
    nodes: nodes.sort((a, b) => byName(a.name, b.name)),
    conditions:
      condition === undefined ? (status.conditions ?? []) : withCondition(status.conditions ?? [], condition, now),
  };
}

function changedLinks(links: readonly LinkStatus[], plan: NodePlan, className: string, now: string): LinkStatus[] {
  const changes = new Map(
    plan.linkChanges.filter((each) => each.className === className).map((each) => [each.key, each.change]),
  );
  return links.flatMap((link) => {
    const change = changes.get(link.key);
    const { unusedSince: _, ...used } = link;
    if (change === 'free') return [];
    if (change === 'unused') return [{ ...link, unusedSince: now }];
    return change === 'used' ? [used] : [link];
  });
}
