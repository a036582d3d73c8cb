/** Counters before and after, the moved ones highlighted. */
import { hasMoved } from './counters.ts';
import { type Markup, markup } from './markup.ts';
import type { Count, CounterRow, CounterTable } from './results.ts';

/** One table per host. */
export function countersPart(tables: readonly CounterTable[]): Markup {
  return markup`${tables
    .filter((table) => table.rows.length > 0)
    .map(
      (
        table,
      ) => markup`<div class="scroll" tabindex="0" role="region" aria-label="Counters of ${table.host}"><table class="counters">
<caption><strong>${table.host}</strong>${table.about && markup` <span class="quiet">${table.about}</span>`}</caption>
<thead><tr><th>Counter</th><th class="number">Before</th><th class="number">After</th><th class="number">Moved by</th></tr></thead>
<tbody>
${table.rows.map(counterRow)}</tbody></table></div>
`,
    )}`;
}

function counterRow(row: CounterRow): Markup {
  const moved = row.after.packets - row.before.packets;
  const sign = moved > 0 ? '+' : moved < 0 ? '−' : '';
  return markup`<tr${hasMoved(row) && markup` class="moved"`}><td><span class="subject">${row.subject}</span><span class="place">${row.place}${row.text && markup` · <code>${row.text}</code>`}</span></td><td class="number">${countCell(row.before)}</td><td class="number">${countCell(row.after)}</td><td class="number delta">${sign}${grouped(Math.abs(moved))}</td></tr>
`;
}

function countCell(count: Count): Markup {
  return markup`${grouped(count.packets)}${count.bytes !== null && markup`<span class="bytes">${grouped(count.bytes)} bytes</span>`}`;
}

/** Thousands apart by a narrow no-break space. */
function grouped(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, '\u202f');
}
