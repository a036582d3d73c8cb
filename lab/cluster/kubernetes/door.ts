/**
 * A way in for the lab's driver: a unix socket whose requests go on to a real API server with an admin's token, so that
 * the driver reaches it as it reaches the embedded one, without a foot in the control host's network.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';

export interface DoorOptions {
  socketPath: string;
  /** Such as https://127.0.0.1:6443. */
  server: string;
  /** File. */
  ca: string;
  token: string;
}

/** @throws Error when the socket cannot be made */
export async function openDoor({ socketPath, server, ca, token }: DoorOptions): Promise<Server> {
  const agent = new Agent({ keepAlive: true, ca: readFileSync(ca) });
  const pass = (incoming: IncomingMessage, answer: ServerResponse): void => {
    const { host: _, connection: __, ...headers } = incoming.headers;
    const onward = httpsRequest(
      new URL(incoming.url ?? '/', server),
      { method: incoming.method, agent, headers: { ...headers, authorization: `Bearer ${token}` } },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        // A watch without events has no first byte to send them with.
        answer.flushHeaders();
        response.pipe(answer);
        response.on('error', () => answer.destroy());
      },
    );
    onward.on('error', (error) => {
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(502, { 'content-type': 'text/plain' }).end(`${server}: ${error.message}\n`);
    });
    answer.on('close', () => onward.destroy());
    incoming.pipe(onward);
  };
  const door = createServer(pass);
  await new Promise<void>((resolve, reject) => {
    door.once('error', reject);
    door.listen(socketPath, resolve);
  });
  door.on('close', () => agent.destroy());
  return door;
}
