/** Loads the ssh client when it is needed: it takes 70 ms, which a lab without machines need not wait for. */
import { pathToFileURL } from 'node:url';
import { program } from '../../project.ts';

export async function loadSsh(): Promise<typeof import('./ssh-connection.ts')> {
  return (await import(pathToFileURL(program('ssh')).href)) as typeof import('./ssh-connection.ts');
}
