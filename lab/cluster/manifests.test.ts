import { describe, expect, it } from 'vitest';
import { parseManifests, readManifests } from './manifests.ts';

describe('manifests', () => {
  it('come one or many to a file, empty documents between them, or as a List', () => {
    const text = `# first
apiVersion: v1
kind: Namespace
metadata: { name: a }
---
---
# third
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: ConfigMap, metadata: { name: b } }
  - { apiVersion: v1, kind: ConfigMap, metadata: { generateName: c- } }
`;
    expect(parseManifests(text, 'm.yaml').map(({ object, line, document }) => [object.kind, line, document])).toEqual([
      ['Namespace', 2, 1],
      ['ConfigMap', 8, 3],
      ['ConfigMap', 8, 3],
    ]);
    expect(parseManifests('', 'm.yaml')).toEqual([]);
  });

  it.each([
    ['a: [1', /^m\.yaml:1:\d+: document 1: /],
    ['apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\nkind: Pod\n  x: 1', /^m\.yaml:\d+:\d+: document 2: /],
    ['- 1', /^m\.yaml:1: document 1: wanted an object, was \[1\]$/],
    ['kind: Pod', /^m\.yaml:1: document 1: apiVersion: wanted a text, was nothing$/],
    ['apiVersion: v1\nkind: 5', /^m\.yaml:1: document 1: kind: wanted a text, was 5$/],
    ['\n\napiVersion: v1\nkind: Pod', /^m\.yaml:3: document 1: metadata\.name: wanted a text, was nothing$/],
    ['a: 1\na: 2', /^m\.yaml:2:\d+: document 1: .*unique/],
  ])('%j is refused with its place', (text, message) => {
    expect(() => parseManifests(text, 'm.yaml')).toThrow(message);
  });

  it('a file that is not there is named', () => {
    expect(() => readManifests('/nonexistent/m.yaml')).toThrow(/^\/nonexistent\/m\.yaml: cannot be read: ENOENT/);
  });
});
