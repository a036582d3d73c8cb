/** What a topology file may say, field by field. Unknown fields are errors: a misspelt one would silently do nothing. */
import { z } from 'zod';
import { parseAddress, parseSubnet } from './ipv4.ts';

function parsedBy(parse: (text: string) => unknown): z.ZodString {
  return z.string().superRefine((text, context) => {
    try {
      parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
    }
  });
}

const address = parsedBy(parseAddress);
const subnet = parsedBy(parseSubnet);
/** Also a network namespace, a host name and part of device names (15 bytes at most). */
const hostName = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{0,11}$/,
    'use 1 to 12 of a-z, 0-9 and -, starting with a letter (it becomes part of a device name)',
  );
const device = z.string().regex(/^[a-z][a-z0-9]{0,14}$/, 'use a device name of 1 to 15 letters and digits');
const port = z.int().min(1).max(65535);

export const topologySchema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]*$/, 'use a-z, 0-9 and -'),
  description: z.string(),
  internet: z.strictObject({
    /** Source prefixes that the internet drops, as transit networks do. */
    drops: z.array(subnet),
  }),
  mesh: z.strictObject({
    interface: device,
    cidr: subnet,
    /** Bytes. WireGuard takes 60 over IPv4 and 80 over IPv6: 1420 is its default, netbird uses 1280. */
    mtu: z.int().min(576).max(9000),
    port,
    keepaliveSeconds: z.int().min(1).max(65535),
  }),
  pods: z.strictObject({ cidr: subnet }),
  sites: z
    .array(
      z
        .strictObject({
          name: hostName,
          nat: z.enum(['public', 'port-restricted', 'symmetric']),
          /** On the internet's side; the internet itself takes the first address. */
          subnet,
          /** The router's address in `subnet`. */
          router: address.optional(),
          /** The prefix behind the router; the router takes its first address. */
          lan: subnet.optional(),
        })
        .superRefine((site, context) => {
          for (const field of ['router', 'lan'] as const) {
            const wanted = site.nat !== 'public';
            if (wanted === (site[field] !== undefined)) continue;
            context.addIssue({
              code: 'custom',
              path: [field],
              message: wanted ? `a ${site.nat} site needs ${field}` : `a public site has no ${field}`,
            });
          }
        }),
    )
    .min(1),
  control: z.strictObject({ name: hostName, site: hostName, interface: device, address, meshAddress: address }),
  nodes: z
    .array(
      z.strictObject({
        name: hostName,
        site: hostName,
        interface: device,
        address,
        meshAddress: address,
        podCidr: subnet,
        /** How this node's CNI differs from Cilium's defaults: see lab/cni/switches.ts. */
        cni: z
          .strictObject({
            masqueradeIntoPodNetwork: z.boolean(),
            endpointRoutes: z.boolean(),
            hostRouting: z.enum(['legacy', 'bpf']),
          })
          .partial()
          .optional(),
      }),
    )
    .min(1),
  clients: z.array(z.strictObject({ name: hostName, site: hostName, address })),
});
