// Of @kubernetes/client-node the programs use KubeConfig alone: where the API server is and how to be let in. Its index
// loads the classes of every Kubernetes object, which KubeConfig needs for a method that nobody here calls; and it loads
// proxies and logins that few kubeconfigs ask for. Here the first is left out and the second wait until they are asked for.
// A bundle is 1.9 MB smaller for it and an agent starts in half the time.
import { dirname, join } from 'node:path';

/** Module -> what stands in for it in a bundle. */
const replacements = {
  // Only makeApiClient uses these.
  './gen/index.js': 'export const createConfiguration = undefined; export class ServerConfiguration {}',
  // Only applyToFetchOptions uses it; Node's own would load 0.3 MB of its own fetch at start.
  'node-fetch': 'export const Headers = undefined;',
  'socks-proxy-agent': lazyClasses('socks-proxy-agent', ['SocksProxyAgent']),
  hpagent: lazyClasses('hpagent', ['HttpProxyAgent', 'HttpsProxyAgent']),
  'openid-client': lazyFunctions('openid-client', ['discovery', 'refreshTokenGrant']),
  'jsonpath-plus': lazyFunctions('jsonpath-plus', ['JSONPath']),
};

/** Classes whose module is loaded when the first object is made. */
function lazyClasses(module, names) {
  return names
    .map(
      (name) => `export class ${name} { constructor(...args) { return new (require('${module}').${name})(...args); } }`,
    )
    .join('\n');
}

/** Functions whose module is loaded when the first of them is called. */
function lazyFunctions(module, names) {
  return names
    .map((name) => `export function ${name}(...args) { return require('${module}').${name}(...args); }`)
    .join('\n');
}

const asIs = 'as it is';

export const slimClient = {
  name: 'slim-client',
  setup(build) {
    build.onResolve({ filter: /^@kubernetes\/client-node$/ }, async ({ resolveDir, pluginData }) => {
      if (pluginData === asIs) return undefined;
      const index = await build.resolve('@kubernetes/client-node', {
        resolveDir,
        kind: 'import-statement',
        pluginData: asIs,
      });
      return { path: join(dirname(index.path), 'config.js') };
    });
    build.onResolve({ filter: /.*/ }, ({ path, importer, resolveDir }) =>
      Object.hasOwn(replacements, path) && importer.includes('@kubernetes/client-node')
        ? { path, namespace: 'slim-client', pluginData: { resolveDir } }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: 'slim-client' }, ({ path, pluginData }) => ({
      contents: replacements[path],
      loader: 'js',
      resolveDir: pluginData.resolveDir,
    }));
  },
};
