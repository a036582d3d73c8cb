/** Rules in the Common Expression Language (x-kubernetes-validations), run by a CEL library on values typed by the schema. */
import { isIP, isIPv4 } from 'node:net';
import { Environment } from '@marcbachmann/cel-js';
import { deepEqual, isObject } from './object.ts';
import type { Schema, ValidationRule } from './schema.ts';
import type { Cause } from './status.ts';
import { mapKey } from './validation.ts';

interface Expression {
  (context: Record<string, unknown>): unknown;
  check(): { valid: boolean; error?: Error };
}

interface Rule {
  source: ValidationRule;
  holds: Expression;
  message: Expression | undefined;
  /** Compares with the old value, so it only runs where there is one. */
  transition: boolean;
}

/** A schema with its rules compiled, as a tree of the same shape; parts without any rule below them are left out. */
export interface CompiledRules {
  schema: Schema;
  rules: Rule[];
  properties: Map<string, CompiledRules>;
  values: CompiledRules | undefined;
  items: CompiledRules | undefined;
}

/** isCIDR as Kubernetes' CEL library has it: an address, a slash and a prefix length without leading zeros. */
function isCidr(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const bits = isIPv4(address) ? 32 : 128;
  return rest.length === 0 && isIP(address) !== 0 && /^(0|[1-9]\d*)$/.test(prefix) && Number(prefix) <= bits;
}

const environment = new Environment({ homogeneousAggregateLiterals: false, enableOptionalTypes: true })
  .registerVariable('self', 'dyn')
  .registerVariable('oldSelf', 'dyn')
  .registerFunction('isIP(string): bool', (text: string) => isIP(text) !== 0)
  .registerFunction('isCIDR(string): bool', isCidr)
  .registerFunction('string.find(string): string', (text: string, re: string) => new RegExp(re).exec(text)?.[0] ?? '');

/** Whether an expression names `oldSelf` outside its string literals. */
function mentionsOldSelf(rule: string): boolean {
  return /\boldSelf\b/.test(rule.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, '""'));
}

function compileExpression(expression: string, path: string): Expression {
  const compiled = environment.parse(expression) as Expression;
  const { valid, error } = compiled.check();
  if (!valid) throw new Error(`${path}: rule ${JSON.stringify(expression)}: ${error?.message ?? 'does not compile'}`);
  return compiled;
}

/**
 * Compiles every rule of a schema. Throws an Error naming the schema path and the rule that does not compile;
 * returns undefined where there is no rule at all.
 */
export function compileRules(schema: Schema, path = 'openAPIV3Schema'): CompiledRules | undefined {
  const rules = (schema['x-kubernetes-validations'] ?? []).map((source, index): Rule => {
    const at = `${path}.x-kubernetes-validations[${index}]`;
    const transition = mentionsOldSelf(source.rule);
    if (transition && schema.type === undefined) throw new Error(`${at}: oldSelf cannot be used without a type`);
    try {
      return {
        source,
        holds: compileExpression(source.rule, at),
        message: source.messageExpression === undefined ? undefined : compileExpression(source.messageExpression, at),
        transition,
      };
    } catch (error) {
      throw new Error(`${at}.rule: ${JSON.stringify(source.rule)}: ${(error as Error).message}`, { cause: error });
    }
  });
  const properties = new Map<string, CompiledRules>();
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const compiled = compileRules(child, `${path}.properties[${name}]`);
    if (compiled !== undefined) properties.set(name, compiled);
  }
  const values = isObject(schema.additionalProperties)
    ? compileRules(schema.additionalProperties as Schema, `${path}.additionalProperties`)
    : undefined;
  const items = schema.items === undefined ? undefined : compileRules(schema.items, `${path}.items`);
  if (rules.length === 0 && properties.size === 0 && values === undefined && items === undefined) return undefined;
  return { schema, rules, properties, values, items };
}

/** A JSON value as CEL sees it: whole numbers of an integer field are CEL ints (bigint), never doubles. */
function toCel(value: unknown, schema: Schema): unknown {
  if (typeof value === 'number') {
    const whole = schema.type === 'integer' || (schema.type !== 'number' && Number.isInteger(value));
    return whole ? BigInt(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => toCel(item, schema.items ?? {}));
  if (!isObject(value)) return value;
  const rest = isObject(schema.additionalProperties) ? (schema.additionalProperties as Schema) : {};
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, toCel(item, schema.properties?.[key] ?? rest)]),
  );
}

/**
 * Runs all rules on `value`; on an update `old` is what was there, and rules that name oldSelf run where the old value
 * can be told to be the same thing (not in lists without map keys). A rule whose evaluation fails counts as broken.
 */
export function checkRules(compiled: CompiledRules, value: unknown, old: unknown, path = ''): Cause[] {
  if (value === undefined || value === null) return [];
  const causes: Cause[] = [];
  const self = compiled.rules.length === 0 ? undefined : toCel(value, compiled.schema);
  const oldSelf = compiled.rules.length === 0 || old === undefined ? undefined : toCel(old, compiled.schema);
  for (const rule of compiled.rules) {
    if (rule.transition && old === undefined) continue;
    const cause = checkRule(rule, compiled.schema, self, oldSelf, path);
    // What an update leaves as it was is not held against it (ratcheting), unless the rule is about the change itself.
    if (cause !== undefined && (rule.transition || old === undefined || !deepEqual(value, old))) causes.push(cause);
  }
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`);
  if (Array.isArray(value) && compiled.items !== undefined) {
    const { items } = compiled;
    const keyed = compiled.schema['x-kubernetes-list-type'] === 'map' && Array.isArray(old) ? old : [];
    value.forEach((item, index) => {
      const key = mapKey(item, compiled.schema);
      const before = keyed.find((candidate) => deepEqual(mapKey(candidate, compiled.schema), key));
      causes.push(...checkRules(items, item, before, `${path}[${index}]`));
    });
  }
  if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      const child =
        compiled.properties.get(key) ?? (compiled.schema.properties?.[key] === undefined ? compiled.values : undefined);
      if (child !== undefined)
        causes.push(...checkRules(child, item, isObject(old) ? old[key] : undefined, below(key)));
    }
  }
  return causes;
}

function checkRule(rule: Rule, schema: Schema, self: unknown, oldSelf: unknown, path: string): Cause | undefined {
  const { source } = rule;
  const context = oldSelf === undefined ? { self } : { self, oldSelf };
  const field = `${path}${source.fieldPath ?? ''}`.replace(/^\./, '') || '<nil>';
  const value = JSON.stringify(schema.type ?? 'object');
  try {
    if (rule.holds(context) === true) return undefined;
  } catch (error) {
    const why = `rule evaluation error: ${(error as Error).message.split('\n')[0]}`;
    return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${value}: ${why}: ${source.rule}` };
  }
  const text = messageOf(rule, context);
  switch (source.reason) {
    case 'FieldValueForbidden':
      return { reason: source.reason, field, message: `Forbidden: ${text}` };
    case 'FieldValueRequired':
      return { reason: source.reason, field, message: `Required value: ${text}` };
    case 'FieldValueDuplicate':
      return { reason: source.reason, field, message: `Duplicate value: ${value}` };
    default:
      return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${value}: ${text}` };
  }
}

/** messageExpression, if it gives a text; else message; else the rule itself. */
function messageOf(rule: Rule, context: Record<string, unknown>): string {
  if (rule.message !== undefined) {
    try {
      const text = rule.message(context);
      if (typeof text === 'string' && text.trim() !== '' && !text.includes('\n')) return text;
    } catch {
      // The real server falls back to the fixed message as well.
    }
  }
  return rule.source.message ?? `failed rule: ${rule.source.rule}`;
}
