// Bundles each program of the project into one file under dist/, so that a process starts in tens of milliseconds:
// @kubernetes/client-node alone takes 0.5-1.1 s to load unbundled and 0.2 s bundled.
import { existsSync, readdirSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { slimClient } from './slim-client.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Program name in dist/ -> its entry point. */
const programs = {
  agent: 'agent/main.ts',
  lab: 'lab/main.ts',
  holder: 'lab/backends/netns/holder.ts',
  ssh: 'lab/backends/ssh/ssh-connection.ts',
  station: 'lab/station/main.ts',
  apiserver: 'lab/cluster/main.ts',
  load: 'lab/bench/load.ts',
};

/** scenarios/<theme>/<name>.ts -> dist/scenarios/<theme>/<name>.js. */
const scenarios = readdirSync(join(root, 'scenarios'), { withFileTypes: true })
  .filter((theme) => theme.isDirectory())
  .flatMap((theme) =>
    readdirSync(join(root, 'scenarios', theme.name))
      .filter((file) => file.endsWith('.ts'))
      .map((file) => [`scenarios/${theme.name}/${file.slice(0, -3)}`, `scenarios/${theme.name}/${file}`]),
  );

const entryPoints = Object.fromEntries([
  ...Object.entries(programs).filter(([, entry]) => existsSync(join(root, entry))),
  ...scenarios,
]);

await build({
  absWorkingDir: root,
  entryPoints,
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  sourcemap: 'linked',
  logLevel: 'warning',
  // What is not there need not be read: a program starts a third sooner, which counts where a machine is emulated.
  minifySyntax: true,
  minifyWhitespace: true,
  plugins: [slimClient],
  // ssh2 does without its native parts, which npm may or may not have built: the bundle is the same on every machine.
  external: ['*.node', 'cpu-features'],
  // Some dependencies are CommonJS: they call require() and use __dirname, also for Node's own modules.
  banner: {
    js: "#!/usr/bin/env node\nimport { createRequire as kuportCreateRequire } from 'node:module';\nconst require = kuportCreateRequire(import.meta.url);\nconst __dirname = import.meta.dirname;",
  },
});
await Promise.all(Object.keys(entryPoints).map((name) => chmod(join(root, 'dist', `${name}.js`), 0o755)));
