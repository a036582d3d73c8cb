/** spec.idleTimeout as seconds, the unit of conntrack's timeouts. */

/**
 * @param text hours, minutes and seconds as the CRD admits them: 90s, 1h30m, 168h
 * @returns whole seconds; null where no timeout is asked for, or none that means anything
 */
export function idleSeconds(text: string | undefined): number | null {
  const match = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text ?? '');
  if (match === null) return null;
  const [, hours = 0, minutes = 0, seconds = 0] = match;
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return total > 0 ? total : null;
}
