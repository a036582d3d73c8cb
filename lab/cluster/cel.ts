/** x-kubernetes-validations: rules in CEL, evaluated by a library. */
import { Environment } from '@marcbachmann/cel-js';
import { isObject, type Json } from './objects.ts';
import type { Schema, ValidationRule } from './schema.ts';

type Evaluate = (variables: Record<string, unknown>) => unknown;

const environment = new Environment({ unlistedVariablesAreDyn: true });
const compiled = new Map<string, Evaluate>();

function compile(rule: string): Evaluate {
  let evaluate = compiled.get(rule);
  if (evaluate === undefined) {
    evaluate = environment.parse(rule) as Evaluate;
    compiled.set(rule, evaluate);
  }
  return evaluate;
}

/** CEL's int is 64 bits wide: integers of the schema become BigInt, other numbers stay. */
function toCel(value: Json, schema: Schema): unknown {
  if (typeof value === 'number') return schema.type === 'integer' ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map((each) => toCel(each, schema.items ?? {}));
  if (!isObject(value)) return value;
  const additional = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, toCel(each, schema.properties?.[key] ?? additional)]),
  );
}

/** A rule that names oldSelf is about the change: without an old value it does not apply. */
function isTransition({ rule }: ValidationRule): boolean {
  return /\boldSelf\b/.test(rule);
}

/** Broken rules of this one value, not of what is below it. */
export function celRules(
  value: Json,
  schema: Schema,
  old: Json | undefined,
): { message: string; field: string; reason: string }[] {
  return (schema['x-kubernetes-validations'] ?? []).flatMap((rule) => {
    if (isTransition(rule) && old === undefined) return [];
    const variables = { self: toCel(value, schema), ...(old === undefined ? {} : { oldSelf: toCel(old, schema) }) };
    const broken = (why: string): { message: string; field: string; reason: string }[] => [
      {
        message: `Invalid value: ${JSON.stringify(isObject(value) ? 'object' : value)}: ${why}`,
        field: rule.fieldPath ?? '',
        reason: rule.reason ?? 'FieldValueInvalid',
      },
    ];
    try {
      if (compile(rule.rule)(variables) === true) return [];
      const said = rule.messageExpression === undefined ? undefined : compile(rule.messageExpression)(variables);
      return broken(typeof said === 'string' ? said : (rule.message ?? `failed rule: ${rule.rule}`));
    } catch (error) {
      return broken(`rule: ${rule.rule}: ${(error as Error).message}`);
    }
  });
}
