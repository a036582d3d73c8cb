/** Where everything of a topology's drawing goes: pure geometry in pixels, in a wide and in a narrow (phone) form. */
import type { PictureClient, PictureNode, PictureSite, TopologyPicture } from './topology-picture.ts';

export interface TextLine {
  text: string;
  tone: 'name' | 'address' | 'mesh' | 'quiet';
}

interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface TopologyLayout {
  width: number;
  height: number;
  bands: (Area & { kind: 'internet' | 'mesh'; label: string; vertical: boolean })[];
  cards: (Area & { title: string; titleAt: 'top' | 'bottom' })[];
  boxes: (Area & { kind: 'node' | 'control' | 'client' | 'router'; lines: TextLine[] })[];
  wires: { kind: 'internet' | 'lan' | 'mesh'; path: string }[];
}

const BOX = 196;
const GAP = 14;
const PAD = 18;
const FIRST_LINE = 30;
const LINE = 17;
const CARD_TITLE = 30;

type Box = TopologyLayout['boxes'][number];
type Contents = { kind: Box['kind']; lines: TextLine[] };

const heightOf = (contents: Pick<Contents, 'lines'>): number => FIRST_LINE + LINE * (contents.lines.length - 1) + 12;

/** Clients above the internet, sites with nodes below it, the mesh under them all. At least 1080 wide, more for many sites. */
export function wideLayout(topology: TopologyPicture): TopologyLayout {
  const groups = groupsOf(topology);
  const hasOnlyClients = (group: Group): boolean => group.members.every((member) => member.kind === 'client');
  const upper = alignedRow(groups.filter(hasOnlyClients));
  const lower = alignedRow(groups.filter((group) => !hasOnlyClients(group)));
  const rowWidth = (row: readonly RowGroup[]): number => row.reduce((sum, group) => sum + groupWidth(group) + 20, 20);
  const width = Math.max(1080, rowWidth(upper), rowWidth(lower));
  const layout: TopologyLayout = { width, height: 0, bands: [], cards: [], boxes: [], wires: [] };

  const upperHeight = Math.max(0, ...upper.map(groupHeight));
  const internetTop = upperHeight > 0 ? upperHeight + 36 : 8;
  const internet = { x: 8, y: internetTop, width: width - 16, height: 40 };
  const lowerTop = internetTop + internet.height + 30;
  const lowerHeight = Math.max(0, ...lower.map(groupHeight));
  const meshTop = lowerTop + lowerHeight + 28;
  layout.bands.push({ ...internet, kind: 'internet', label: 'internet', vertical: false });
  if (topology.mesh) {
    layout.bands.push({
      x: 8,
      y: meshTop,
      width: width - 16,
      height: 40,
      kind: 'mesh',
      label: meshLabel(topology.mesh),
      vertical: false,
    });
  }
  layout.height = topology.mesh ? meshTop + 48 : lowerTop + lowerHeight + 8;

  for (const { group, x } of spread(upper, width)) {
    const top = upperHeight - groupHeight(group) + 8;
    placeGroup(layout, group, x, top, { internetAt: internetTop, above: true });
  }
  for (const { group, x } of spread(lower, width)) {
    placeGroup(layout, group, x, lowerTop + lowerHeight - groupHeight(group), {
      internetAt: internetTop + 40,
      above: false,
      ...(topology.mesh ? { meshAt: meshTop } : {}),
    });
  }
  return layout;
}

/** One column for a width of 360: the internet runs down the left edge, the mesh down the right. */
export function narrowLayout(topology: TopologyPicture): TopologyLayout {
  const width = 360;
  const trunk = 26;
  const left = 52;
  const inner = width - 2 * left;
  const layout: TopologyLayout = { width, height: 0, bands: [], cards: [], boxes: [], wires: [] };
  let y = 8;
  for (const group of groupsOf(topology)) {
    const cardTop = group.router ? y + heightOf(group.router) / 2 : y;
    let top = y;
    if (group.router) {
      layout.wires.push({ kind: 'internet', path: `M${trunk + 2} ${y + 22}H${left + 14}` });
      layout.boxes.push({ ...group.router, x: left + 14, y, width: inner - 28, height: heightOf(group.router) });
      top += heightOf(group.router) + 16;
    } else if (group.title) top += 12;
    const members: Box[] = group.members.map((member) => {
      const box = { ...member, x: left + 14, y: top, width: inner - 28, height: heightOf(member) };
      top += box.height + GAP;
      return box;
    });
    for (const [index, box] of members.entries()) {
      const middle = box.y + box.height / 2;
      if (!group.router) layout.wires.push({ kind: 'internet', path: `M${trunk + 2} ${middle}H${box.x}` });
      else {
        const from = index === 0 ? box.y - 16 : box.y - GAP;
        layout.wires.push({ kind: 'lan', path: `M${width / 2} ${from}V${box.y}` });
      }
      if (topology.mesh && hasMesh(box)) {
        layout.wires.push({ kind: 'mesh', path: `M${box.x + box.width} ${middle}H${width - trunk - 2}` });
      }
    }
    layout.boxes.push(...members);
    if (group.title) {
      layout.cards.push({
        x: left,
        y: cardTop,
        width: inner,
        height: top + CARD_TITLE - GAP - cardTop + 2,
        title: group.title,
        titleAt: 'bottom',
      });
      top += CARD_TITLE - GAP + 2;
    } else top -= GAP;
    y = top + 18;
  }
  layout.height = y - 8;
  const band = { y: 8, width: trunk - 4, height: layout.height - 16, vertical: true };
  layout.bands.push({ ...band, x: 6, kind: 'internet', label: 'internet' });
  if (topology.mesh) {
    layout.bands.push({ ...band, x: width - trunk - 2, kind: 'mesh', label: meshLabel(topology.mesh) });
  }
  return layout;
}

/** A site with all that stands in it, or one client on the internet itself (no title, no card). */
interface Group {
  title: string | null;
  router: Contents | null;
  members: Contents[];
}

interface RowGroup extends Group {
  memberHeight: number;
}

function groupsOf(topology: TopologyPicture): Group[] {
  const free = topology.clients.filter((client) => client.site === undefined);
  const groups: Group[] = free.map((client) => ({ title: null, router: null, members: [clientBox(client)] }));
  for (const site of topology.sites) {
    const clients = topology.clients.filter((client) => client.site === site.name).map(clientBox);
    const nodes = topology.nodes.filter((node) => node.site === site.name).map((node) => nodeBox(topology, node));
    const members = [...nodes, ...clients];
    if (members.length > 0) groups.push({ title: siteTitle(site), router: routerBox(site), members });
  }
  // Clients come first: a reader follows a packet from them.
  const isClients = (group: Group): number => (group.members.every((member) => member.kind === 'client') ? 0 : 1);
  return groups.sort((one, other) => isClients(one) - isClients(other));
}

const siteTitle = (site: PictureSite): string => [site.name, site.lan].filter(Boolean).join(' · ');
const meshLabel = (mesh: NonNullable<TopologyPicture['mesh']>): string =>
  `mesh ${mesh.interface} · ${mesh.implementation === 'kernel' ? 'kernel WireGuard' : mesh.implementation} · MTU ${mesh.mtu}`;

function nodeBox(topology: TopologyPicture, node: PictureNode): Contents {
  const lines: TextLine[] = [
    { text: node.name, tone: 'name' },
    { text: `${node.interface} ${node.address}`, tone: 'address' },
  ];
  if (node.meshAddress) lines.push({ text: `${topology.mesh?.interface ?? 'mesh'} ${node.meshAddress}`, tone: 'mesh' });
  if (node.podCidr) lines.push({ text: `pods ${node.podCidr}`, tone: 'quiet' });
  if (node.role === 'control') lines.push({ text: 'Kubernetes API', tone: 'quiet' });
  for (const pod of node.pods ?? []) lines.push({ text: `${pod.name} ${pod.address}`, tone: 'address' });
  return { kind: node.role === 'control' ? 'control' : 'node', lines };
}

function clientBox(client: PictureClient): Contents {
  const lines: TextLine[] = [
    { text: client.name, tone: 'name' },
    { text: client.address, tone: 'address' },
  ];
  return { kind: 'client', lines };
}

function routerBox({ router }: PictureSite): Contents | null {
  if (!router) return null;
  const lines: TextLine[] = [
    { text: router.name, tone: 'name' },
    { text: router.nat === 'none' ? 'no NAT' : `${router.nat} NAT`, tone: 'quiet' },
    { text: `wan ${router.wanAddress}`, tone: 'address' },
    { text: `lan ${router.lanAddress}`, tone: 'address' },
  ];
  return { kind: 'router', lines };
}

const hasMesh = (contents: Contents): boolean => contents.lines.some((line) => line.tone === 'mesh');

function groupWidth(group: Group): number {
  const members = group.members.length * BOX + (group.members.length - 1) * GAP;
  return group.title ? members + 2 * PAD : members;
}

/** Boxes of one row are equally tall, so that their first lines make a line. */
function alignedRow(groups: readonly Group[]): RowGroup[] {
  const memberHeight = Math.max(0, ...groups.flatMap((group) => group.members.map(heightOf)));
  return groups.map((group) => ({ ...group, memberHeight }));
}

function groupHeight(group: RowGroup): number {
  if (!group.title) return group.memberHeight;
  return (group.router ? heightOf(group.router) + 24 : 22) + group.memberHeight + CARD_TITLE;
}

function spread(groups: readonly RowGroup[], width: number): { group: RowGroup; x: number }[] {
  const used = groups.reduce((sum, group) => sum + groupWidth(group), 0);
  const gap = (width - used) / (groups.length + 1);
  let x = gap;
  return groups.map((group) => {
    const placed = { group, x };
    x += groupWidth(group) + gap;
    return placed;
  });
}

/** In the upper row a group's router stands below it, toward the internet; in the lower row above it. */
function placeGroup(
  layout: TopologyLayout,
  group: RowGroup,
  x: number,
  top: number,
  at: { internetAt: number; above: boolean; meshAt?: number },
): void {
  const height = groupHeight(group);
  const width = groupWidth(group);
  const routerHeight = group.router ? heightOf(group.router) : 0;
  const centre = x + width / 2;
  const membersTop =
    !group.title || at.above ? top + (group.title ? CARD_TITLE : 0) : top + height - CARD_TITLE - group.memberHeight;
  const routerTop = at.above ? membersTop + group.memberHeight + 24 : top;

  if (group.title) {
    const half = routerHeight / 2;
    const card = at.above ? { y: top, height: height - half } : { y: top + half, height: height - half };
    layout.cards.push({ x, width, ...card, title: group.title, titleAt: at.above ? 'top' : 'bottom' });
  }
  if (group.router) {
    layout.boxes.push({ ...group.router, x: centre - BOX / 2, y: routerTop, width: BOX, height: routerHeight });
    const edge = at.above ? routerTop + routerHeight : routerTop;
    layout.wires.push({ kind: 'internet', path: `M${centre} ${edge}V${at.internetAt}` });
  }
  let left = group.title ? x + PAD : x;
  for (const member of group.members) {
    const box: Box = { ...member, x: left, y: membersTop, width: BOX, height: group.memberHeight };
    const middle = left + BOX / 2;
    const facing = at.above ? membersTop + group.memberHeight : membersTop;
    if (group.router) {
      const turn = at.above ? routerTop - 12 : membersTop - 12;
      const routerEdge = at.above ? routerTop : routerTop + routerHeight;
      layout.wires.push({ kind: 'lan', path: `M${centre} ${routerEdge}V${turn}H${middle}V${facing}` });
    } else layout.wires.push({ kind: 'internet', path: `M${middle} ${facing}V${at.internetAt}` });
    if (at.meshAt !== undefined && hasMesh(member)) {
      layout.wires.push({ kind: 'mesh', path: `M${middle} ${membersTop + group.memberHeight}V${at.meshAt}` });
    }
    layout.boxes.push(box);
    left += BOX + GAP;
  }
}
