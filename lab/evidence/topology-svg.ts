/** The topology as a drawing with its real addresses: in the report, in the README, and from `lab graph`. */
import { Markup, markup } from './markup.ts';
import { paletteStyle } from './palette.ts';
import { narrowLayout, type TextLine, type TopologyLayout, wideLayout } from './topology-layout.ts';
import type { TopologyPicture } from './topology-picture.ts';

export interface TopologySvgOptions {
  /** One column for a phone instead of the wide drawing. Default false. */
  narrow?: boolean;
  /** Distinguishes the element ids of two drawings in one page. Default `topology`. */
  id?: string;
}

/** A complete SVG document or element: carries its own styles, follows light and dark, loads nothing. */
export function topologySvg(topology: TopologyPicture, options: TopologySvgOptions = {}): string {
  const layout = options.narrow ? narrowLayout(topology) : wideLayout(topology);
  const id = options.id ?? 'topology';
  const { width, height } = layout;
  return String(markup`<svg xmlns="http://www.w3.org/2000/svg" class="topology" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${id}-title ${id}-description">
<title id="${id}-title">Topology ${topology.name}</title>
<desc id="${id}-description">${describeTopology(topology)}</desc>
<style>${new Markup(STYLE)}</style>
${layout.cards.map(card)}
${layout.wires.map((wire) => markup`<path class="wire ${wire.kind}" d="${wire.path}"/>\n`)}
${layout.cards.map(cardTitle)}
${layout.bands.map(band)}
${layout.boxes.map(box)}
</svg>`);
}

/** The drawing in words, for who cannot see it. */
export function describeTopology(topology: TopologyPicture): string {
  const sentences = topology.sites.map((site) => {
    const members = [
      ...topology.nodes
        .filter((node) => node.site === site.name)
        .map((node) => `${node.name} ${node.address}${node.meshAddress ? ` (mesh ${node.meshAddress})` : ''}`),
      ...topology.clients
        .filter((client) => client.site === site.name)
        .map((client) => `${client.name} ${client.address}`),
    ].join(', ');
    const router = site.router ? ` behind ${site.router.name} ${site.router.wanAddress} (${site.router.nat} NAT)` : '';
    return `Site ${site.name}${router}: ${members || 'empty'}.`;
  });
  const free = topology.clients.filter((client) => client.site === undefined);
  const clients = free.map((client) => `${client.name} ${client.address}`).join(', ');
  return [...(clients ? [`On the internet: ${clients}.`] : []), ...sentences].join(' ');
}

function card({ x, y, width, height }: TopologyLayout['cards'][number]): Markup {
  return markup`<rect class="site" x="${x}" y="${y}" width="${width}" height="${height}" rx="10"/>\n`;
}

/** After the wires, with a halo, so that a wire passes behind its letters. */
function cardTitle({ x, y, width, height, title, titleAt }: TopologyLayout['cards'][number]): Markup {
  const baseline = titleAt === 'top' ? y + 20 : y + height - 11;
  return markup`<text class="site-name" x="${x + width / 2}" y="${baseline}" text-anchor="middle">${title}</text>\n`;
}

function band({ x, y, width, height, kind, label, vertical }: TopologyLayout['bands'][number]): Markup {
  const [cx, cy] = [x + width / 2, y + height / 2];
  // A long band says its name more than once, so that some of it is always in sight.
  const names = vertical ? Math.max(1, Math.floor(height / 420)) : 1;
  const texts = Array.from({ length: names }, (_, index) => {
    const along = vertical ? y + (height * (index + 0.5)) / names : cy;
    const turn = vertical ? markup` transform="rotate(-90 ${cx} ${along})"` : null;
    return markup`<text x="${cx}" y="${along + 4.5}" text-anchor="middle"${turn}>${label}</text>`;
  });
  return markup`<g class="band ${kind}"><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${Math.min(width, height) / 2}"/>${texts}</g>\n`;
}

function box({ x, y, width, height, kind, lines }: TopologyLayout['boxes'][number]): Markup {
  const characters = Math.floor((width - 24) / 7.3);
  const texts = lines.map(
    (line, index) =>
      markup`<text class="${line.tone}" x="${x + 14}" y="${y + 25 + index * 17 + (index > 0 ? 3 : 0)}">${shortened(line, characters)}</text>\n`,
  );
  return markup`<g class="box ${kind}"><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${kind === 'client' ? 14 : 7}"/>
${texts}</g>
`;
}

/** Shortens the word before an address rather than the address. */
function shortened({ text, tone }: TextLine, characters: number): string {
  const room = tone === 'name' ? characters - 2 : characters;
  if (text.length <= room) return text;
  const words = text.split(' ');
  const last = words.length > 1 ? ` ${words.at(-1)}` : '';
  return `${text.slice(0, Math.max(1, room - last.length - 1))}…${last}`;
}

const STYLE = `${paletteStyle('.topology')}
.topology{font:12px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;max-width:100%;height:auto}
.topology text{fill:var(--ink)}
.topology .name,.topology .band text,.topology .site-name{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}
.topology .name{font-size:14px;font-weight:600}
.topology text.quiet{fill:var(--quiet)}
.topology text.mesh,.topology .band.mesh text{fill:var(--mesh)}
.topology .band.internet text{fill:var(--accent)}
.topology .site-name{fill:var(--quiet);stroke:var(--inset);stroke-width:5px;paint-order:stroke;stroke-linejoin:round}
.topology .site{fill:var(--inset);stroke:var(--line)}
.topology .box rect{fill:var(--surface);stroke:var(--line)}
.topology .node rect{stroke:var(--quiet)}
.topology .control rect{stroke:var(--quiet);stroke-dasharray:1 3;stroke-linecap:round}
.topology .router rect{fill:var(--ground);stroke:var(--accent)}
.topology .client rect{stroke:var(--accent)}
.topology .band text{font-size:13px}
.topology .band rect{fill:var(--surface);stroke-width:1.2}
.topology .band.internet rect{stroke:var(--accent)}
.topology .band.mesh rect{stroke:var(--mesh);stroke-dasharray:5 4}
.topology .wire{fill:none;stroke-width:1.3}
.topology .wire.internet{stroke:var(--accent)}
.topology .wire.lan{stroke:var(--quiet)}
.topology .wire.mesh{stroke:var(--mesh);stroke-dasharray:5 4}
`;
