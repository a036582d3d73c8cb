/** junit.xml as CI systems read it (GitLab, GitHub actions, Jenkins): one suite per theme, one case per scenario. */
import { formatDuration } from '../terminal/duration.ts';
import { type Markup, markup } from './markup.ts';
import type { Run, ScenarioResult } from './results.ts';

/** The whole document. A lab that did not come up is a case of its own, so that no reader takes an empty run for a good one. */
export function junitXml(run: Run): string {
  const suites = new Map<string, ScenarioResult[]>();
  if (run.setupFailure) suites.set('lab', [setUpCase(run.setupFailure)]);
  for (const scenario of run.scenarios) {
    const theme = scenario.name.split('/')[0] ?? scenario.name;
    suites.set(theme, [...(suites.get(theme) ?? []), scenario]);
  }
  const all = [...suites.values()].flat();
  return `<?xml version="1.0" encoding="UTF-8"?>\n${markup`<testsuites name="kuport scenarios" ${totals(all)}>
${[...suites].map(([theme, scenarios]) => suite(run, theme, scenarios))}</testsuites>
`}`;
}

function suite(run: Run, theme: string, scenarios: readonly ScenarioResult[]): Markup {
  return markup`  <testsuite name="${theme}" ${totals(scenarios)} timestamp="${run.startedAt.slice(0, 19)}" hostname="${run.backend}">
${scenarios.map(testCase)}  </testsuite>
`;
}

function totals(scenarios: readonly ScenarioResult[]): Markup {
  const count = (verdict: ScenarioResult['verdict']): number =>
    scenarios.filter((scenario) => scenario.verdict === verdict).length;
  const milliseconds = scenarios.reduce((sum, scenario) => sum + scenario.milliseconds, 0);
  return markup`tests="${scenarios.length}" failures="${count('failed')}" errors="${count('error')}" skipped="${count('skipped')}" time="${seconds(milliseconds)}"`;
}

function testCase(scenario: ScenarioResult): Markup {
  const [theme, ...rest] = scenario.name.split('/');
  const name = rest.join('/') || scenario.name;
  return markup`    <testcase classname="${theme}" name="${name}" time="${seconds(scenario.milliseconds)}">
${outcome(scenario)}      <system-out>${details(scenario)}</system-out>
    </testcase>
`;
}

function outcome(scenario: ScenarioResult): Markup | null {
  const message = scenario.reason ?? scenario.failure?.message ?? scenario.verdict;
  const body = [scenario.diagnosis, scenario.failure?.stack ?? scenario.failure?.message].filter(Boolean).join('\n\n');
  switch (scenario.verdict) {
    case 'passed':
      return null;
    case 'skipped':
      return markup`      <skipped message="${message}"/>\n`;
    case 'failed':
      return markup`      <failure type="failed" message="${message}">${body}</failure>\n`;
    case 'error':
      return markup`      <error type="error" message="${message}">${body}</error>\n`;
  }
}

function details(scenario: ScenarioResult): string {
  return [
    scenario.sentence,
    ...scenario.checks.map(
      (check) =>
        `${check.ok ? 'ok    ' : 'NOT OK'} ${check.kind}: ${check.title}: expected ${check.expected}, seen ${check.seen}`,
    ),
    `${scenario.exchanges.length} exchanges in ${formatDuration(scenario.milliseconds)}`,
    ...(scenario.evidenceFolder ? [`evidence: ${scenario.evidenceFolder}`] : []),
  ].join('\n');
}

function setUpCase(failure: NonNullable<Run['setupFailure']>): ScenarioResult {
  return {
    name: 'lab/set-up',
    sentence: 'The lab comes up.',
    verdict: 'error',
    reason: failure.message,
    milliseconds: 0,
    checks: [],
    exchanges: [],
    counters: [],
    failure,
    ...(failure.evidenceFolder ? { evidenceFolder: failure.evidenceFolder } : {}),
  };
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}
