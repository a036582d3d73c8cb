import { describe, expect, it } from 'vitest';
import { junitXml } from './junit.ts';
import { EXAMPLE_RUN } from './testing/example-run.ts';
import { elementsNamed, parseXml } from './testing/parse-xml.ts';

const HOSTILE = `<&>"' ]]> \u0000\u001b[31m \ud800 </testcase>`;

describe('junit.xml', () => {
  const document = parseXml(junitXml(EXAMPLE_RUN));
  const cases = elementsNamed(document, 'testcase');
  const caseNamed = (name: string) => cases.find((each) => each.attributes.name === name);

  it('counts each verdict, in the whole and per suite', () => {
    expect(document.name).toBe('testsuites');
    expect(document.attributes).toMatchObject({ tests: '6', failures: '1', errors: '1', skipped: '1', time: '9.700' });
    const suites = elementsNamed(document, 'testsuite').map(({ attributes }) => attributes);
    expect(suites).toMatchObject([
      { name: 'single', tests: '4', failures: '1', errors: '0', skipped: '0', timestamp: '2025-12-01T10:48:12' },
      { name: 'none', tests: '2', failures: '0', errors: '1', skipped: '1' },
    ]);
  });

  it('gives a failure its reason, diagnosis and stack, and nothing to what passed', () => {
    const [failure] = elementsNamed(caseNamed('follows-the-pod') ?? document, 'failure');
    expect(failure?.attributes.message).toBe(
      'the pod on worker-c answers: expected answered, seen timeout (and 1 more)',
    );
    expect(failure?.text).toContain('The loop guard (pref 101)');
    expect(failure?.text).toContain('follows-the-pod.ts:41:9');
    expect(caseNamed('cross-node')?.children.map((child) => child.name)).toEqual(['system-out']);
    expect(caseNamed('refuses-remote')?.children.map((child) => child.name)).toEqual(['error', 'system-out']);
    expect(caseNamed('kernel-wireguard')?.children[0]?.attributes.message).toMatch(/no WireGuard/);
  });

  it('tells each check in the output', () => {
    const output = elementsNamed(caseNamed('follows-the-pod') ?? document, 'system-out')[0]?.text;
    expect(output).toContain('NOT OK assertion: the pod on worker-c answers: expected answered, seen timeout');
    expect(output).toContain('evidence: evidence/single/follows-the-pod');
  });

  it('shows a lab that did not come up as an error', () => {
    const xml = junitXml({ ...EXAMPLE_RUN, scenarios: [], setupFailure: { message: 'nft is missing' } });
    const failed = parseXml(xml);
    expect(failed.attributes).toMatchObject({ tests: '1', errors: '1' });
    expect(elementsNamed(failed, 'error')[0]?.attributes.message).toBe('nft is missing');
  });

  it('stays well-formed whatever a message holds', () => {
    const [template] = EXAMPLE_RUN.scenarios;
    if (!template) throw new Error('the example has no scenario');
    const scenario = {
      ...template,
      verdict: 'failed' as const,
      name: `x/${HOSTILE}`,
      reason: HOSTILE,
      sentence: HOSTILE,
      failure: { message: HOSTILE, stack: HOSTILE },
    };
    const hostile = parseXml(junitXml({ ...EXAMPLE_RUN, scenarios: [scenario] }));
    const shown = `<&>"' ]]> \ufffd\ufffd[31m \ufffd </testcase>`;
    expect(elementsNamed(hostile, 'failure')[0]?.text).toBe(shown);
    expect(elementsNamed(hostile, 'testcase')).toHaveLength(1);
  });
});
