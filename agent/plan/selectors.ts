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

/** Labels as a command line takes them, in order. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.sort().join(',') || 'none';
}

/** A selector in the words of `kubectl get --selector`. */
export function describeSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): string {
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(', ')})`;
  });
  return [...(Object.keys(matchLabels).length === 0 ? [] : [labelText(matchLabels)]), ...expressions].join(', ');
}
