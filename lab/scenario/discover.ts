/** Finds scenario files: scenarios/<theme>/<name>.ts, bundled into dist/scenarios. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectRoot } from '../project.ts';
import type { Scenario } from './scenario.ts';

export interface NamedScenario extends Scenario {
  /** `theme/name`. */
  name: string;
}

/**
 * All scenarios, or those whose name contains one of `filters`, by name.
 * @throws Error when nothing matches: a run of nothing must not look like a success
 */
export async function discoverScenarios(filters: readonly string[] = []): Promise<NamedScenario[]> {
  const folder = join(projectRoot, 'dist', 'scenarios');
  if (!existsSync(folder)) throw new Error(`no ${folder}: run \`make build\` first`);
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((theme) => theme.isDirectory())
    .flatMap((theme) =>
      readdirSync(join(folder, theme.name))
        .filter((file) => file.endsWith('.js'))
        .map((file) => `${theme.name}/${file.slice(0, -'.js'.length)}`),
    )
    .sort();
  const wanted = names.filter((name) => filters.length === 0 || filters.some((filter) => name.includes(filter)));
  if (wanted.length === 0) {
    throw new Error(
      `no scenario's name contains ${filters.map((filter) => `"${filter}"`).join(' or ')}; there are ${names.join(', ')}`,
    );
  }
  return Promise.all(
    wanted.map(async (name) => {
      const module = (await import(pathToFileURL(join(folder, `${name}.js`)).href)) as { default?: Scenario };
      if (module.default === undefined) throw new Error(`scenarios/${name}.ts has no default export`);
      return { name, ...module.default };
    }),
  );
}
