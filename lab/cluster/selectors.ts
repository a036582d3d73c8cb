/** Label and field selectors of list, watch and deletecollection. */
import { at, type KubernetesObject, text } from './objects.ts';
import { StatusError } from './status-error.ts';

export type Matches = (object: KubernetesObject) => boolean;

/** Splits at commas that stand outside parentheses. */
function requirements(selector: string): string[] {
  return selector
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`. @throws StatusError BadRequest */
export function labelSelector(selector: string): Matches {
  const tests = requirements(selector).map((part): Matches => {
    const value = (object: KubernetesObject, key: string): string | undefined => {
      const found = at(object, 'metadata', 'labels', key);
      return typeof found === 'string' ? found : undefined;
    };
    const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(part);
    if (set !== null) {
      const [, key = '', operator, list = ''] = set;
      const values = list.split(',').map((each) => each.trim());
      return (object) => {
        const found = value(object, key);
        return (found !== undefined && values.includes(found)) === (operator === 'in');
      };
    }
    const equality = /^([^!=\s]+)\s*(==|=|!=)\s*(\S*)$/.exec(part);
    if (equality !== null) {
      const [, key = '', operator, wanted] = equality;
      return (object) => (value(object, key) === wanted) === (operator !== '!=');
    }
    const existence = /^(!?)\s*([^!=\s()]+)$/.exec(part);
    if (existence === null) throw new StatusError('BadRequest', `unable to parse label selector requirement "${part}"`);
    return (object) => (value(object, existence[2] ?? '') !== undefined) === (existence[1] === '');
  });
  return (object) => tests.every((test) => test(object));
}

/** `metadata.name=a,spec.nodeName!=b`: any field, which is more than a real server allows. @throws StatusError BadRequest */
export function fieldSelector(selector: string): Matches {
  const tests = requirements(selector).map((part): Matches => {
    const match = /^([\w.]+)\s*(==|=|!=)\s*(.*)$/.exec(part);
    if (match === null) throw new StatusError('BadRequest', `unable to parse field selector requirement "${part}"`);
    const [, path = '', operator, wanted] = match;
    return (object) => (text(at(object, ...path.split('.'))) === wanted) === (operator !== '!=');
  });
  return (object) => tests.every((test) => test(object));
}
