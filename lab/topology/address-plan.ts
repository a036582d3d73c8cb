/** What a topology must be consistent in beyond its fields: names, sites, and who may hold which address. */
import { contains, nthAddress, overlap, parseAddress, parseSubnet } from './ipv4.ts';
import type { Topology } from './topology.ts';

export interface TopologyProblem {
  /** Where in the file: keys and indexes from the root. */
  path: (string | number)[];
  message: string;
}

/** Remembers who took a value and reports the second taker. */
class Claims {
  readonly #owners = new Map<string, string>();
  readonly #problems: TopologyProblem[];
  readonly #kind: string;

  constructor(kind: string, problems: TopologyProblem[]) {
    this.#kind = kind;
    this.#problems = problems;
  }

  take(value: string, owner: string, path: (string | number)[]): void {
    const other = this.#owners.get(value);
    if (other === undefined) this.#owners.set(value, owner);
    else this.#problems.push({ path, message: `${this.#kind} ${value} of ${owner} is already taken by ${other}` });
  }
}

/** Everything that contradicts itself, in the order of the file; empty when the topology can be built. */
export function checkAddressPlan(topology: Topology): TopologyProblem[] {
  const problems: TopologyProblem[] = [];
  const names = new Claims('name', problems);
  const sites = new Map(topology.sites.map((site) => [site.name, site]));
  const localAddresses = new Map(topology.sites.map((site) => [site.name, new Claims('address', problems)]));
  names.take('internet', 'the internet', []);

  topology.sites.forEach((site, index) => {
    names.take(site.name, `site ${site.name}`, ['sites', index, 'name']);
    const outside = parseSubnet(site.subnet);
    const gateway = nthAddress(outside, 1);
    if (outside.prefixLength > 30) {
      problems.push({
        path: ['sites', index, 'subnet'],
        message: `${site.subnet} has no room for the internet and a host: use /30 or wider`,
      });
    }
    topology.sites.slice(0, index).forEach((other) => {
      if (!overlap(outside, parseSubnet(other.subnet))) return;
      problems.push({
        path: ['sites', index, 'subnet'],
        message: `${site.subnet} overlaps ${other.subnet} of site ${other.name}`,
      });
    });
    if (site.router !== undefined) {
      if (!contains(outside, parseAddress(site.router))) {
        problems.push({
          path: ['sites', index, 'router'],
          message: `${site.router} is not in the site's subnet ${site.subnet}`,
        });
      }
      if (site.router === gateway) {
        problems.push({
          path: ['sites', index, 'router'],
          message: `${site.router} is the internet's own address in ${site.subnet}`,
        });
      }
    }
    const inside = site.lan ?? site.subnet;
    localAddresses
      .get(site.name)
      ?.take(nthAddress(parseSubnet(inside), 1), site.lan === undefined ? 'the internet' : 'the router', [
        'sites',
        index,
      ]);
  });

  const place = (host: { name: string; site: string; address: string }, path: (string | number)[]): void => {
    names.take(host.name, host.name, [...path, 'name']);
    const site = sites.get(host.site);
    if (site === undefined) {
      problems.push({
        path: [...path, 'site'],
        message: `no site is named "${host.site}": there are ${[...sites.keys()].join(', ')}`,
      });
      return;
    }
    const inside = site.lan ?? site.subnet;
    if (!contains(parseSubnet(inside), parseAddress(host.address))) {
      problems.push({
        path: [...path, 'address'],
        message: `${host.address} is not in ${inside} of site ${site.name}`,
      });
    }
    localAddresses.get(site.name)?.take(host.address, host.name, [...path, 'address']);
  };

  const mesh = parseSubnet(topology.mesh.cidr);
  const meshAddresses = new Claims('mesh address', problems);
  const join = (host: { name: string; interface: string; meshAddress: string }, path: (string | number)[]): void => {
    if (!contains(mesh, parseAddress(host.meshAddress))) {
      problems.push({
        path: [...path, 'meshAddress'],
        message: `${host.meshAddress} is not in the mesh's ${topology.mesh.cidr}`,
      });
    }
    if (host.interface === topology.mesh.interface) {
      problems.push({
        path: [...path, 'interface'],
        message: `${host.name} has its mesh interface under that name (mesh.interface): its uplink needs another`,
      });
    }
    meshAddresses.take(host.meshAddress, host.name, [...path, 'meshAddress']);
  };

  place(topology.control, ['control']);
  join(topology.control, ['control']);
  const pods = parseSubnet(topology.pods.cidr);
  topology.nodes.forEach((node, index) => {
    place(node, ['nodes', index]);
    join(node, ['nodes', index]);
    const range = parseSubnet(node.podCidr);
    if (!contains(pods, range.base) || range.prefixLength < pods.prefixLength) {
      problems.push({
        path: ['nodes', index, 'podCidr'],
        message: `${node.podCidr} is not part of the pod network ${topology.pods.cidr}`,
      });
    }
    topology.nodes.slice(0, index).forEach((other) => {
      if (!overlap(range, parseSubnet(other.podCidr))) return;
      problems.push({
        path: ['nodes', index, 'podCidr'],
        message: `${node.podCidr} overlaps ${other.podCidr} of ${other.name}`,
      });
    });
  });
  for (const [index, client] of topology.clients.entries()) place(client, ['clients', index]);
  return problems;
}
