import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { serveHealth } from './health.ts';

test('healthz always, readyz once the first pass is done; a taken port is an error', async () => {
  let isReady = false;
  let metrics = (): string => 'kuport_up 1\n';
  const server = await serveHealth(0, { isReady: () => isReady, metrics: async () => metrics() });
  const { port } = server.address() as AddressInfo;
  const status = async (path: string): Promise<number> => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  expect([await status('/healthz'), await status('/readyz'), await status('/other')]).toEqual([200, 503, 404]);
  isReady = true;
  expect(await status('/readyz')).toBe(200);
  await expect(serveHealth(port, { isReady: () => true, metrics: async () => '' })).rejects.toThrow('EADDRINUSE');
  expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toBe('kuport_up 1\n');
  metrics = () => {
    throw new Error('nft is not there');
  };
  expect(await status('/metrics')).toBe(500);
  server.close();
});
