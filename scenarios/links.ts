/** kuport's links on a host, by name. */
import type { Host } from '../lab/backends/host.ts';

export async function linksOf(host: Host): Promise<string[]> {
  const { stdout } = await host.exec(['ip', '-brief', 'link', 'show', 'type', 'vxlan']);
  return stdout.match(/^kup-[0-9a-f]{8}/gm) ?? [];
}

/** The only link on a host. @throws Error naming what is there instead */
export async function onlyLink(host: Host): Promise<string> {
  const links = await linksOf(host);
  const [link] = links;
  if (link === undefined || links.length > 1)
    throw new Error(`${host.name} should have one link, it has ${links.join(', ') || 'none'}`);
  return link;
}
