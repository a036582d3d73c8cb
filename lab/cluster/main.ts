/** The lab's embedded Kubernetes API server as a process: `apiserver --config FILE`. */
import { createWriteStream, readdirSync, readFileSync } from 'node:fs';
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseAllDocuments } from 'yaml';
import type { ApiServerConfiguration } from './configuration.ts';
import type { Json } from './objects.ts';
import { customResourceDefinitions } from './resources.ts';
import { ApiServer } from './server.ts';

const begin = performance.now();
const { values } = parseArgs({ options: { config: { type: 'string' } } });
if (values.config === undefined) throw new Error('usage: apiserver --config FILE');
const configuration = JSON.parse(readFileSync(values.config, 'utf8')) as ApiServerConfiguration;

const requestLog = createWriteStream(configuration.requestLog, { flags: 'a' });
const server = new ApiServer({
  tokens: configuration.tokens,
  log: (request) => requestLog.write(`${JSON.stringify({ at: Date.now(), ...request })}\n`),
});

const writing = { fieldValidation: 'Strict', dryRun: false } as const;
for (const folder of configuration.crdFolders) {
  for (const file of readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .sort()) {
    for (const document of parseAllDocuments(readFileSync(join(folder, file), 'utf8'))) {
      const object = document.toJS() as Json;
      if (object !== null) server.api.create(customResourceDefinitions, '', object, writing);
    }
  }
}
const namespaces = server.api.registry.get('', 'v1', 'namespaces');
for (const name of ['default', 'kube-system']) {
  if (namespaces !== undefined)
    server.api.create(namespaces, '', { metadata: { name, labels: { 'kubernetes.io/metadata.name': name } } }, writing);
}

const handler = (trusted: boolean) => (request: IncomingMessage, response: ServerResponse) => {
  void server.handle(request, response, trusted);
};
const { tls, listen, unixSocket } = configuration;
const secure = createServer({ cert: tls.certificate, key: tls.key }, handler(false));
const local = createPlainServer(handler(true));
await Promise.all([
  new Promise<void>((resolve, reject) => secure.once('error', reject).listen(listen.port, listen.address, resolve)),
  new Promise<void>((resolve, reject) => local.once('error', reject).listen(unixSocket, resolve)),
]);
process.stdout.write(`${JSON.stringify({ ready: true, milliseconds: Math.round(performance.now() - begin) })}\n`);
