import { describe, expect, test } from 'vitest';
import { assignMarks } from './marks.ts';

describe('marks', () => {
  test('keep clear of the bits that Cilium, kube-proxy and KubeSpan read, and are never shared', () => {
    const devices = Array.from({ length: 255 }, (_, index) => `kup-${index}`);
    const marks = [...assignMarks(devices, {}).values()];
    expect(new Set(marks).size).toBe(255);
    for (const mark of marks) {
      expect(mark & 0x0fffff & 0xcf60).toBe(0);
      expect(mark >>> 16).toBe(0x6b70);
      expect(mark & 0xffff).not.toBe(0);
    }
  });

  test('one more than there are is refused, not shared', () => {
    expect(() =>
      assignMarks(
        Array.from({ length: 256 }, (_, index) => `kup-${index}`),
        {},
      ),
    ).toThrow('256 links on one node, room for 255');
  });

  test('stay what they are over a restart, unless two devices claim one', () => {
    expect(assignMarks(['kup-a', 'kup-b'], { 'kup-b': 0x6b700001 }).get('kup-b')).toBe(0x6b700001);
    const both = assignMarks(['kup-a', 'kup-b'], { 'kup-a': 0x6b700001, 'kup-b': 0x6b700001 });
    expect(both.get('kup-a')).toBe(0x6b700001);
    expect(both.get('kup-b')).not.toBe(0x6b700001);
    expect(assignMarks(['kup-a'], { 'kup-a': 0x6b700f00 }).get('kup-a')).not.toBe(0x6b700f00);
  });
});
