/** The lab as data: what a topology file says (see schema.ts) after it has been checked. */
import type { z } from 'zod';
import type { topologySchema } from './schema.ts';

export type Topology = z.infer<typeof topologySchema>;
export type Site = Topology['sites'][number];
export type LabNode = Topology['nodes'][number];
export type Client = Topology['clients'][number];
export type Control = Topology['control'];
/** How a site's router treats what leaves: not at all, keeping the port where it can, or a new port for each destination. */
export type NatKind = Site['nat'];
