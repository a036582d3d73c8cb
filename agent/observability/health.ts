/** /healthz: the process answers; /readyz: its first pass is done; /metrics: what Prometheus reads. */
import { createServer, type Server, type ServerResponse } from 'node:http';

export interface Health {
  isReady(): boolean;
  /** In Prometheus' text format. */
  metrics(): Promise<string>;
}

/** @throws Error when the port is taken */
export async function serveHealth(port: number, health: Health): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url === '/metrics') {
      void sendMetrics(health, response);
      return;
    }
    const isReady = health.isReady();
    const [status, text] =
      request.url === '/healthz'
        ? [200, 'ok']
        : request.url === '/readyz'
          ? [isReady ? 200 : 503, isReady ? 'ok' : 'first pass not done yet']
          : [404, 'there is /healthz, /readyz and /metrics'];
    response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  return server;
}

async function sendMetrics(health: Health, response: ServerResponse): Promise<void> {
  try {
    const text = await health.metrics();
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
  } catch (error) {
    response.writeHead(500, { 'content-type': 'text/plain' }).end(`${(error as Error).message}\n`);
  }
}
