/** One scenario in the report: a line to read, and below it everything that was measured. */
import { formatDuration } from '../terminal/duration.ts';
import { countersPart } from './counter-tables.ts';
import { type Markup, markup } from './markup.ts';
import type { Check, Exchange, Run, ScenarioResult, Verdict } from './results.ts';
import { acceptingNodeOf, answeredAsDialled, groupExchanges, sequenceSvg } from './sequence-svg.ts';
import { storyPart } from './story-section.ts';

const SIGNS: Record<Verdict, string> = { passed: '✓', failed: '✗', error: '!', skipped: '–' };

/** The verdict as sign, word and colour: never as colour alone. */
export function verdictMark(verdict: Verdict): Markup {
  return markup`<span class="verdict ${verdict}"><span class="sign" aria-hidden="true">${SIGNS[verdict]}</span>${verdict}</span>`;
}

/** The id of a scenario's section, for links within the page. */
export function anchorOf(scenario: Pick<ScenarioResult, 'name'>): string {
  return `scenario-${scenario.name.replaceAll(/[^\w-]+/g, '-')}`;
}

/** Opened from the start where something went wrong: that is what the page is opened for. */
export function scenarioSection(scenario: ScenarioResult, run: Run): Markup {
  const wentWrong = scenario.verdict === 'failed' || scenario.verdict === 'error';
  return markup`<details class="scenario" id="${anchorOf(scenario)}"${wentWrong && markup` open`}>
<summary>${verdictMark(scenario.verdict)}<span class="what"><span class="name">${scenario.name}</span><span class="sentence">${scenario.sentence}</span></span><span class="time">${scenario.verdict === 'skipped' ? '–' : formatDuration(scenario.milliseconds)}</span></summary>
<div class="body">
${scenario.verdict !== 'passed' && failurePart(scenario)}
${scenario.checks.length > 0 && checksPart(scenario.checks)}
${(scenario.stories ?? []).map(storyPart)}
${scenario.exchanges.length > 0 && exchangesPart(scenario, run)}
${scenario.counters.some((table) => table.rows.length > 0) && markup`<section><h4>Counters</h4>${countersPart(scenario.counters)}</section>`}
</div>
</details>
`;
}

function failurePart(scenario: ScenarioResult): Markup {
  const { reason, diagnosis, evidenceFolder, failure } = scenario;
  const stack = failure?.stack ?? (failure?.message === reason ? undefined : failure?.message);
  return markup`<section class="failure ${scenario.verdict}">
<p class="reason">${reason ?? failure?.message ?? 'no reason was recorded'}</p>
${diagnosis && markup`<p class="diagnosis"><strong>Most likely:</strong> ${diagnosis}</p>`}
${evidenceFolder && evidenceLink(evidenceFolder)}
${stack && markup`<details class="more"><summary>Stack</summary><pre tabindex="0">${stack}</pre></details>`}
</section>`;
}

/** A link to the evidence, relative to the page; each part of the path is encoded. */
export function evidenceLink(folder: string): Markup {
  const href = folder.split('/').map(encodeURIComponent).join('/');
  return markup`<p><a href="./${href}/index.txt">Evidence from every host</a> <span class="quiet">rulesets, routes, conntrack, captures, logs in <code>${folder}</code></span></p>`;
}

function checksPart(checks: readonly Check[]): Markup {
  return markup`<section><h4>Checks</h4>
<ul class="checks">
${checks.map(
  (
    check,
  ) => markup`<li class="${check.ok ? 'passed' : 'failed'}"><span class="sign" aria-hidden="true">${check.ok ? SIGNS.passed : SIGNS.failed}</span><div><p class="title"><span class="visually-hidden">${check.ok ? 'Holds: ' : 'Does not hold: '}</span>${check.title}${check.kind !== 'assertion' && markup` <span class="kind">${check.kind}</span>`}</p>
${
  check.ok && check.expected === check.seen
    ? markup`<p class="values"><span>seen</span> <code>${check.seen}</code></p>`
    : markup`<p class="values"><span>expected</span> <code>${check.expected}</code></p><p class="values"><span>seen</span> <code class="seen">${check.seen}</code></p>`
}</div></li>
`,
)}</ul></section>`;
}

/** Drawn by what both ends saw only where no story tells more. */
function exchangesPart({ exchanges, stories = [] }: ScenarioResult, run: Run): Markup {
  const groups = stories.length > 0 ? [] : groupExchanges(exchanges);
  return markup`<section><h4>Exchanges</h4>
${groups.length > 0 && markup`<div class="figures">${groups.map((group) => figure(group, run))}</div>`}
<details class="more"><summary>${exchanges.length === 1 ? 'The exchange' : `All ${exchanges.length} exchanges`} as a table</summary>
<div class="scroll" tabindex="0" role="region" aria-label="Exchanges"><table class="exchanges">
<thead><tr><th>Client</th><th>Dialled</th><th>Pod saw</th><th>Answer from</th><th class="number">Round trip</th></tr></thead>
<tbody>
${exchanges.map((exchange) => exchangeRow(exchange, run))}</tbody></table></div></details>
</section>`;
}

function figure(group: readonly Exchange[], run: Run): Markup | null {
  const [first] = group;
  if (!first) return null;
  const times = group.flatMap((exchange) => exchange.roundTripMs ?? []).sort((one, other) => one - other);
  const [shortest, longest] = [times[0], times.at(-1)];
  const range =
    group.length > 1 && shortest !== undefined && longest !== undefined
      ? `, ${formatDuration(shortest)} to ${formatDuration(longest)}`
      : '';
  return markup`<figure>${sequenceSvg(first, run.topology)}
<figcaption>${first.note ?? `${first.client}, ${first.protocol}: ${outcomeWords(first)}`}${group.length > 1 && ` (${group.length} like this${range})`}</figcaption></figure>
`;
}

function outcomeWords(exchange: Exchange): string {
  if (exchange.outcome !== 'answered') return exchange.outcome;
  return answeredAsDialled(exchange) ? 'answered' : 'answered from another address';
}

function exchangeRow(exchange: Exchange, run: Run): Markup {
  const accepting = acceptingNodeOf(exchange, run.topology);
  const pod = exchange.pod === null ? null : `${exchange.pod} on ${exchange.node ?? 'an unknown node'}`;
  const isWrong = exchange.answerFrom !== null && !answeredAsDialled(exchange);
  return markup`<tr><td>${exchange.client}<small><code>${exchange.source}</code></small></td>
<td>${exchange.protocol} <code>${exchange.dialled}</code>${accepting && markup`<small>accepted by ${accepting}</small>`}</td>
<td><code>${exchange.podSaw ?? '–'}</code>${pod && markup`<small>${pod}</small>`}</td>
<td${isWrong && markup` class="wrong"`}>${exchange.answerFrom === null ? exchange.outcome : markup`<code>${exchange.answerFrom}</code>`}${isWrong && markup`<small>not the address dialled</small>`}</td>
<td class="number">${exchange.roundTripMs === null ? '–' : formatDuration(exchange.roundTripMs)}</td></tr>
`;
}
