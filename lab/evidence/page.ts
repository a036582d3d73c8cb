/** The report as one page: no script, no network, nothing beside it but the evidence folders it links to. */
import { formatDuration } from '../terminal/duration.ts';
import { Markup, markup } from './markup.ts';
import { PAGE_STYLE } from './page-style.ts';
import { type Run, type ScenarioResult, type Summary, summarise } from './results.ts';
import { anchorOf, evidenceLink, scenarioSection, verdictMark } from './scenario-section.ts';
import { topologySvg } from './topology-svg.ts';

/** The whole HTML document. */
export function reportPage(run: Run): string {
  const summary = summarise(run);
  const headline = headlineOf(run, summary);
  return `<!doctype html>\n${markup`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${headline} · kuport lab</title>
<style>${new Markup(PAGE_STYLE)}</style>
</head>
<body>
<header>
<p class="overline">kuport lab · ${run.topology.name} on ${run.backend}</p>
<h1 class="${summary.ok ? 'passed' : 'failed'}">${headline}</h1>
<p class="lead">${countsLine(summary, run)}</p>
${strip(run.scenarios)}
${phasesPart(run)}
</header>
<main>
${run.setupFailure && setupPart(run.setupFailure)}
<section aria-labelledby="scenarios-heading"><h2 id="scenarios-heading">Scenarios</h2>
<p class="quiet">Each is a sentence that packets proved or did not. Open one to see what was checked, which addresses each end saw, and which counters moved.</p>
${themesOf(run.scenarios).map(
  ([
    theme,
    scenarios,
  ]) => markup`<section class="theme" aria-labelledby="theme-${theme}"><h3 id="theme-${theme}">${theme}</h3>
${scenarios.map((scenario) => scenarioSection(scenario, run))}</section>
`,
)}</section>
<section aria-labelledby="topology-heading"><h2 id="topology-heading">Topology</h2>
<div class="wide">${new Markup(topologySvg(run.topology, { id: 'topology-wide' }))}</div>
<div class="narrow">${new Markup(topologySvg(run.topology, { id: 'topology-narrow', narrow: true }))}</div>
</section>
<section aria-labelledby="made-of-heading"><h2 id="made-of-heading">Made of</h2>
${factsPart(run)}</section>
</main>
</body>
</html>
`}`;
}

function headlineOf(run: Run, summary: Summary): string {
  const ran = run.scenarios.length - summary.skipped;
  if (run.setupFailure) return 'The lab did not come up';
  if (ran === 0) return 'No scenario ran';
  if (summary.ok) return ran === 1 ? 'The one scenario passed' : `All ${ran} scenarios passed`;
  return `${summary.failed + summary.error} of ${ran} scenarios did not pass`;
}

function countsLine(summary: Summary, run: Run): Markup {
  const total = run.phases.reduce((sum, phase) => sum + phase.milliseconds, 0) || summary.milliseconds;
  const parts = (['passed', 'failed', 'error', 'skipped'] as const).filter(
    (verdict) => summary[verdict] > 0 || verdict === 'passed' || verdict === 'failed',
  );
  return markup`${parts.map((verdict) => markup`<span class="count ${verdict} ${summary[verdict] === 0 && 'none'}"><b>${summary[verdict]}</b> ${verdict}</span> `)}<span class="count quiet">in ${formatDuration(total)}</span>`;
}

/** One mark per scenario, in order: the whole run at a glance, each a link to its section. */
function strip(scenarios: readonly ScenarioResult[]): Markup {
  return markup`<nav aria-label="Scenarios by verdict"><ul class="strip">${scenarios.map(
    (scenario) =>
      markup`<li><a href="#${anchorOf(scenario)}" title="${scenario.name}: ${scenario.verdict}"><span class="visually-hidden">${scenario.name}: </span>${verdictMark(scenario.verdict)}</a></li>`,
  )}</ul></nav>`;
}

function setupPart(failure: NonNullable<Run['setupFailure']>): Markup {
  return markup`<section class="failure failed" aria-label="Set-up failure">
<p class="reason">${failure.message}</p>
${failure.evidenceFolder && evidenceLink(failure.evidenceFolder)}
${failure.stack && markup`<details class="more"><summary>Stack</summary><pre tabindex="0">${failure.stack}</pre></details>`}
</section>`;
}

function themesOf(scenarios: readonly ScenarioResult[]): [string, ScenarioResult[]][] {
  const themes = new Map<string, ScenarioResult[]>();
  for (const scenario of scenarios) {
    const theme = scenario.name.split('/')[0] ?? scenario.name;
    themes.set(theme, [...(themes.get(theme) ?? []), scenario]);
  }
  return [...themes];
}

function phasesPart(run: Run): Markup {
  const total = run.phases.reduce((sum, phase) => sum + phase.milliseconds, 0);
  if (run.phases.length === 0) return markup``;
  return markup`<section class="phases" aria-label="Where the time went"><div class="bar" aria-hidden="true">${run.phases.map(
    (phase, index) =>
      markup`<span class="shade-${index % 8}" style="flex-grow:${Math.max(1, Math.round(phase.milliseconds))}"></span>`,
  )}</div>
<ol>${run.phases.map(
    (phase, index) =>
      markup`<li><span class="key shade-${index % 8}" aria-hidden="true"></span>${phase.name} <span class="time">${formatDuration(phase.milliseconds)}</span></li>`,
  )}</ol><p class="visually-hidden">In all ${formatDuration(total)}.</p></section>`;
}

function factsPart(run: Run): Markup {
  const { kernel, nft, iproute2, wireguard, node } = run.versions;
  const facts: [string, string | Markup][] = [
    ['Started', markup`<time datetime="${run.startedAt}">${dateWords(run.startedAt)}</time>`],
    ['Backend', run.backend],
    ['Kernel', kernel],
    ['WireGuard', wireguard],
    ['nftables', nft],
    ['iproute2', iproute2],
    ['Node.js', node],
  ];
  return markup`<dl class="facts">${facts.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function dateWords(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return `${new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(date)} UTC`;
}
