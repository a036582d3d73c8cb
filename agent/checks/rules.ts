/** Whether somebody else's ip rule takes marked replies before kuport's own rules see them. */
import type { IpRule } from '../datapath/ip-json.ts';
import { divertPreference, routeProtocol } from '../datapath/routing.ts';
import { markPrefix, markPrefixMask } from '../plan/marks.ts';
import { type Finding, ok, warning } from './finding.ts';

/** More of a rule than the datapath reads, as `ip -N -json` prints it. */
interface HostRule extends IpRule {
  srclen?: number;
  iif?: string;
  oif?: string;
  not?: null;
  action?: string;
}

/** The local table: what is for this node itself is never on its way back over a link. */
const localTable = '255';

/** Bits of the low half in which kuport's marks are always clear. */
const clearBits = 0x0f00 | 0xc000 | 0x0060;

/** Whether a rule's mark can be one of kuport's; a rule without one takes all. */
function canHaveOurMark({ fwmark, fwmask, not }: HostRule): boolean {
  if (fwmark === undefined) return true;
  const mark = Number(fwmark);
  const mask = fwmask === undefined ? 0xffffffff : Number(fwmask);
  const known = (markPrefixMask | clearBits) >>> 0;
  // Only the bits that are the same in all of kuport's marks can rule one out.
  const differs = ((mark ^ markPrefix) & mask & known) !== 0;
  // The opposite matches nearly everything, unless it is kuport's prefix that is excepted.
  return not === undefined ? !differs : differs || (mask & ~known) !== 0;
}

function ruleText({
  priority,
  src = 'all',
  srclen,
  dst,
  dstlen,
  fwmark,
  fwmask,
  iif,
  table,
  action,
}: HostRule): string {
  return [
    `${priority}: from ${src}${srclen === undefined ? '' : `/${srclen}`}`,
    ...(dst === undefined ? [] : [`to ${dst}${dstlen === undefined ? '' : `/${dstlen}`}`]),
    ...(fwmark === undefined ? [] : [`fwmark ${fwmark}${fwmask === undefined ? '' : `/${fwmask}`}`]),
    ...(iif === undefined ? [] : [`iif ${iif}`]),
    action ?? `lookup ${table}`,
  ].join(' ');
}

/** A rule for other devices' packets or for what the node itself sends says nothing of a pod's replies. */
export function shadowingRules(rules: readonly HostRule[]): string[] {
  return rules
    .filter(
      (rule) =>
        rule.priority <= divertPreference &&
        rule.protocol !== String(routeProtocol) &&
        rule.table !== localTable &&
        rule.iif !== 'lo' &&
        rule.oif === undefined &&
        canHaveOurMark(rule),
    )
    .map(ruleText);
}

export function checkRules(rules: readonly IpRule[]): Finding {
  const check = 'host/ip-rules';
  const shadowing = shadowingRules(rules);
  return shadowing.length === 0
    ? ok(check, `no other rule up to preference ${divertPreference} takes marked replies`)
    : warning(
        check,
        `ip rule ${shadowing.join(', ip rule ')} stands before kuport's (101 and 102) and may take replies that go back over a link`,
        'move it behind preference 102, or except fwmark 0x6b700000/0xffff0000 from it',
      );
}
