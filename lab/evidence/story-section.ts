/** A story in the report: the drawing, beside it what each host did and which of its rules counted it. */
import { countersPart } from './counter-tables.ts';
import { type Markup, markup } from './markup.ts';
import type { CounterRow, Hop, Story } from './results.ts';
import { storySvg } from './story-svg.ts';

export function storyPart(story: Story): Markup {
  const { title, difference, hops, counters } = story;
  return markup`<section class="story"><h4>${title}</h4>
${difference && markup`<p class="difference"><strong>First difference:</strong> ${difference}</p>`}
<div class="told"><div>${storySvg(story)}</div>
<ol class="hops">
${hops.map(hopItem)}</ol></div>
${counters.length > 0 && markup`<details class="more"><summary>Counters before and after</summary>${countersPart(counters)}</details>`}
</section>`;
}

function hopItem(hop: Hop, index: number): Markup {
  const { host, arrived, left, sentTo, answered, mark, moved } = hop;
  const isSame = arrived.source === left.source && arrived.destination === left.destination;
  return markup`<li><p class="host"><span class="ordinal">${index + 1}</span> <strong>${host}</strong> <span class="quiet">${answered ? 'an answer came back through it' : 'no answer came back through it'}${mark !== 0 && `, connection mark 0x${mark.toString(16)}`}</span></p>
<p class="addresses"><code>${arrived.source} → ${arrived.destination}</code></p>
${
  isSame
    ? markup`<p class="quiet">went on as it came</p>`
    : markup`<p class="addresses"><span class="quiet">went on as</span> <code>${changed(left.source, arrived.source)} → ${changed(left.destination, arrived.destination)}</code>${sentTo && markup` <span class="quiet">${sentTo}</span>`}</p>`
}
${moved.length > 0 && markup`<ul class="rules">${moved.map(movedItem)}</ul>`}
</li>
`;
}

function changed(after: string, before: string): Markup {
  return after === before ? markup`${after}` : markup`<b>${after}</b>`;
}

function movedItem({ place, subject, before, after }: CounterRow): Markup {
  const moved = after.packets - before.packets;
  return markup`<li><span class="delta">${moved < 0 ? '−' : '+'}${Math.abs(moved)}</span> <code>${place.replace(/^ip kuport /, '')}</code> ${subject}</li>`;
}
