/** Label selectors as the API defines them. */
import type { LabelSelector } from '../api/types.ts';

/** An absent or empty selector selects everything. */
export function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>> = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const listed = value !== undefined && values.includes(value);
      return operator === 'In' ? listed : !listed;
    })
  );
}
