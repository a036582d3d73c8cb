import { describe, expect, it } from 'vitest';
import { jsonPatch, mergePatch } from './patch.ts';
import { strategicMerge } from './strategic-merge.ts';

describe('JSON merge patch', () => {
  // The table of RFC 7386, appendix A, as far as it concerns objects.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j', (target, patch, result) => {
    const before = structuredClone(target);
    expect(mergePatch(target, patch)).toEqual(result);
    expect(target).toEqual(before);
  });
});

describe('JSON patch', () => {
  const object = { spec: { ports: [1, 2], 'a/b': 1 } };

  it.each([
    [[{ op: 'add', path: '/spec/ports/-', value: 3 }], { spec: { ports: [1, 2, 3], 'a/b': 1 } }],
    [[{ op: 'add', path: '/spec/ports/0', value: 0 }], { spec: { ports: [0, 1, 2], 'a/b': 1 } }],
    [[{ op: 'replace', path: '/spec/a~1b', value: 2 }], { spec: { ports: [1, 2], 'a/b': 2 } }],
    [[{ op: 'remove', path: '/spec/ports/0' }], { spec: { ports: [2], 'a/b': 1 } }],
    [[{ op: 'move', from: '/spec/ports', path: '/ports' }], { spec: { 'a/b': 1 }, ports: [1, 2] }],
    [[{ op: 'copy', from: '/spec/ports/1', path: '/last' }], { ...object, last: 2 }],
    [[{ op: 'test', path: '/spec/ports/1', value: 2 }], object],
  ])('%j', (operations, result) => {
    expect(jsonPatch(object, operations)).toEqual(result);
    expect(object.spec.ports).toEqual([1, 2]);
  });

  it.each([
    [{ op: 'remove', path: '/spec/none' }, 'missing path: /spec/none'],
    [{ op: 'replace', path: '/none', value: 1 }, 'missing path: /none'],
    [{ op: 'test', path: '/spec/ports/0', value: 9 }, 'testing value /spec/ports/0 failed'],
    [{ op: 'add', path: '/spec/ports/9', value: 9 }, 'missing path'],
    [{ op: 'twist', path: '/spec' }, 'twist'],
  ])('refuses %j', (operation, message) => {
    expect(() => jsonPatch(object, [operation])).toThrow(message);
  });
});

describe('strategic merge patch', () => {
  const service = {
    spec: {
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 81 },
      ],
      selector: { app: 'x' },
    },
  };

  it('merges a list by its key, and deletes an item by directive', () => {
    const patch = { spec: { ports: [{ port: 81, name: 'c' }, { port: 80, $patch: 'delete' }, { port: 82 }] } };
    expect(strategicMerge('Service', service, patch)).toEqual({
      spec: { ports: [{ name: 'c', port: 81 }, { port: 82 }], selector: { app: 'x' } },
    });
  });

  it('puts items in the order kubectl names', () => {
    const patch = { spec: { '$setElementOrder/ports': [{ port: 81 }, { port: 80 }] } };
    expect(strategicMerge('Service', service, patch)).toMatchObject({ spec: { ports: [{ port: 81 }, { port: 80 }] } });
  });

  it('merges by key inside the items of a list', () => {
    const pod = { spec: { containers: [{ name: 'c', env: [{ name: 'A', value: '1' }], args: ['x'] }] } };
    const patch = { spec: { containers: [{ name: 'c', env: [{ name: 'B', value: '2' }], args: ['y'] }] } };
    expect(strategicMerge('Pod', pod, patch)).toEqual({
      spec: {
        containers: [
          {
            name: 'c',
            env: [
              { name: 'A', value: '1' },
              { name: 'B', value: '2' },
            ],
            args: ['y'],
          },
        ],
      },
    });
  });

  it('replaces lists without a key, maps by directive, and handles sets', () => {
    expect(strategicMerge('EndpointSlice', { endpoints: [1] }, { endpoints: [2] })).toEqual({ endpoints: [2] });
    expect(strategicMerge('Service', service, { spec: { selector: { $patch: 'replace', b: 'c' } } })).toMatchObject({
      spec: { selector: { b: 'c' } },
    });
    const held = { metadata: { finalizers: ['a', 'b'] } };
    expect(strategicMerge('Pod', held, { metadata: { finalizers: ['c'] } })).toEqual({
      metadata: { finalizers: ['a', 'b', 'c'] },
    });
    expect(strategicMerge('Pod', held, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } })).toEqual({
      metadata: { finalizers: ['b'] },
    });
    expect(strategicMerge('Service', { spec: { a: 1, b: 2 } }, { spec: { $retainKeys: ['b'] } })).toEqual({
      spec: { b: 2 },
    });
  });

  it('refuses an item without its key and an unknown directive', () => {
    expect(() => strategicMerge('Service', service, { spec: { ports: [{ name: 'x' }] } })).toThrow('merge key: port');
    expect(() => strategicMerge('Service', service, { spec: { $patch: 'melt' } })).toThrow('"melt" at spec');
  });
});
