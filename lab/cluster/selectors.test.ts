import { describe, expect, it } from 'vitest';
import type { KubeObject } from './object.ts';
import { fieldSelector, labelSelector } from './selectors.ts';

const pod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'echo', namespace: 'default', labels: { app: 'echo', 'example.com/tier': 'front', size: '5' } },
  spec: { nodeName: 'edge-a', hostNetwork: false },
};

describe('label selectors', () => {
  it.each([
    ['app=echo', true],
    ['app==echo', true],
    ['app=other', false],
    ['app!=other', true],
    ['none!=x', true],
    ['app', true],
    ['none', false],
    ['!none', true],
    ['!app', false],
    ['app in (a, echo)', true],
    ['app in (a,b)', false],
    ['app notin (a,b)', true],
    ['none notin (a)', true],
    ['none in (a)', false],
    ['example.com/tier=front,app in (echo),!none', true],
    ['example.com/tier=front,app in (x)', false],
    ['size>4', true],
    ['size<4', false],
    ['none=', false],
    ['', true],
  ])('%s: %s', (selector, picked) => {
    expect(labelSelector(selector)(pod)).toBe(picked);
  });

  it.each(['=x', 'a in b', '!a=b', 'a b'])('refuses %s', (selector) => {
    expect(() => labelSelector(selector)).toThrow(selector.trim());
  });
});

describe('field selectors', () => {
  it.each([
    ['metadata.name=echo', true],
    ['metadata.name=other', false],
    ['spec.nodeName=edge-a,metadata.namespace=default', true],
    ['spec.nodeName!=edge-a', false],
    ['spec.hostNetwork=false', true],
  ])('%s: %s', (selector, picked) => {
    expect(fieldSelector(selector, ['spec.nodeName', 'spec.hostNetwork'], 'pods')(pod)).toBe(picked);
  });

  it('refuses a field that the resource cannot be selected by', () => {
    expect(() => fieldSelector('spec.color=red', ['spec.nodeName'], 'pods')).toThrow(
      'field label not supported: spec.color',
    );
  });
});
