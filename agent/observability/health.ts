/** /healthz: the process answers; /readyz: its first pass is done. */
import { createServer, type Server } from 'node:http';

export interface Health {
  isReady(): boolean;
}

/** @throws Error when the port is taken */
export async function serveHealth(port: number, health: Health): Promise<Server> {
  const server = createServer((request, response) => {
    const isReady = health.isReady();
    const [status, text] =
      request.url === '/healthz'
        ? [200, 'ok']
        : request.url === '/readyz'
          ? [isReady ? 200 : 503, isReady ? 'ok' : 'first pass not done yet']
          : [404, 'there is /healthz and /readyz'];
    response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  return server;
}
