import { describe, expect, it } from 'vitest';
import { type Check, type Exchange, judge, type ScenarioResult, summarise } from './results.ts';

const exchange: Exchange = {
  client: 'client-a',
  protocol: 'UDP',
  dialled: '203.0.113.9:3000',
  source: '198.51.100.7:40001',
  answerFrom: '203.0.113.9:3000',
  podSaw: '198.51.100.7:40001',
  pod: 'echo-1',
  node: 'worker-b',
  roundTripMs: 0.4,
  outcome: 'answered',
};
const check = (kind: Check['kind'], ok: boolean): Check => ({
  title: `a ${kind}`,
  kind,
  expected: 'x',
  seen: ok ? 'x' : 'y',
  ok,
});

describe('judge', () => {
  it('passes a scenario whose checks hold on real exchanges', () => {
    expect(judge({ checks: [check('assertion', true)], exchanges: [exchange] })).toEqual({ verdict: 'passed' });
  });

  it('fails on the first check that does not hold and says what was expected and seen', () => {
    const verdict = judge({
      checks: [check('assertion', true), check('assertion', false), check('negative', false)],
      exchanges: [exchange],
    });
    expect(verdict).toEqual({ verdict: 'failed', reason: 'a assertion: expected x, seen y (and 1 more)' });
  });

  it.each([
    ['without an exchange', { checks: [check('assertion', true)], exchanges: [] }, /no exchange/],
    [
      'without an exchange even if a check failed',
      { checks: [check('assertion', false)], exchanges: [] },
      /no exchange/,
    ],
    ['without a check', { checks: [], exchanges: [exchange] }, /checked nothing/],
    [
      'with a failed positive control, though assertions hold',
      { checks: [check('assertion', true), check('positive control', false)], exchanges: [exchange] },
      /positive control failed/,
    ],
    [
      'with a failed positive control, though assertions fail too',
      { checks: [check('assertion', false), check('positive control', false)], exchanges: [exchange] },
      /positive control failed/,
    ],
    [
      'with a negative check and no control',
      { checks: [check('negative', true)], exchanges: [exchange] },
      /silence alone/,
    ],
    [
      'when it threw for another reason than a check',
      { checks: [check('assertion', true)], exchanges: [exchange], failure: { message: 'ENOENT nft' } },
      /could not be carried out: ENOENT nft/,
    ],
  ])('is an error %s', (_title, observed, reason) => {
    const verdict = judge(observed);
    expect(verdict.verdict).toBe('error');
    expect(verdict.reason).toMatch(reason);
  });

  it('calls a throw after a failed check a failure', () => {
    const observed = { checks: [check('assertion', false)], exchanges: [exchange], failure: { message: 'assertion' } };
    expect(judge(observed).verdict).toBe('failed');
  });

  it('accepts a negative check beside a positive control', () => {
    const checks = [check('positive control', true), check('negative', true)];
    expect(judge({ checks, exchanges: [exchange] }).verdict).toBe('passed');
  });

  it('keeps the reason of a skip', () => {
    expect(judge({ checks: [], exchanges: [], skipped: 'no kernel WireGuard' })).toEqual({
      verdict: 'skipped',
      reason: 'no kernel WireGuard',
    });
  });
});

describe('summarise', () => {
  const scenario = (verdict: ScenarioResult['verdict']): ScenarioResult => ({
    name: 'a/b',
    sentence: '',
    verdict,
    milliseconds: 5,
    checks: [],
    exchanges: [],
    counters: [],
  });

  it('counts each verdict', () => {
    const scenarios = (['passed', 'passed', 'failed', 'error', 'skipped'] as const).map(scenario);
    expect(summarise({ scenarios })).toEqual({
      passed: 2,
      failed: 1,
      error: 1,
      skipped: 1,
      milliseconds: 25,
      ok: false,
    });
  });

  it('is not ok when nothing passed or the lab did not come up', () => {
    expect(summarise({ scenarios: [] }).ok).toBe(false);
    expect(summarise({ scenarios: [scenario('skipped')] }).ok).toBe(false);
    expect(summarise({ scenarios: [scenario('passed')] }).ok).toBe(true);
    expect(summarise({ scenarios: [scenario('passed')], setupFailure: { message: 'no nft' } }).ok).toBe(false);
  });
});
