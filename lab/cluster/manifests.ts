/** Manifest files: several objects in YAML documents, each with its place for error messages. */
import { readFileSync } from 'node:fs';
import { LineCounter, parseAllDocuments } from 'yaml';
import type { ApiObject } from './client.ts';

export interface Manifest {
  object: ApiObject;
  /** `file:line` where its document begins. */
  place: string;
}

/** A manifest file that cannot be used. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
}

/** @throws ManifestError naming file, line and what is missing */
export function readManifestFile(file: string): Manifest[] {
  let text: string;
  try {
    text = file === '-' ? readFileSync(0, 'utf8') : readFileSync(file, 'utf8');
  } catch (error) {
    throw new ManifestError(`cannot read manifests: ${(error as Error).message}`);
  }
  return parseManifests(text, file === '-' ? 'standard input' : file);
}

export function parseManifests(text: string, file: string): Manifest[] {
  const lines = new LineCounter();
  const manifests: Manifest[] = [];
  for (const document of parseAllDocuments(text, { lineCounter: lines })) {
    const [error] = document.errors;
    if (error !== undefined)
      throw new ManifestError(`${file}:${error.linePos?.[0].line ?? 1}: ${error.message.split('\n')[0]}`);
    const object = document.toJS() as ApiObject | null;
    if (object === null) continue;
    const place = `${file}:${lines.linePos(document.contents?.range?.[0] ?? 0).line}`;
    const missing = [
      ...(object.apiVersion === undefined ? ['apiVersion'] : []),
      ...(object.kind === undefined ? ['kind'] : []),
      ...(object.metadata?.name === undefined ? ['metadata.name'] : []),
    ];
    if (missing.length > 0) throw new ManifestError(`${place}: the object lacks ${missing.join(', ')}`);
    manifests.push({ object, place });
  }
  if (manifests.length === 0) throw new ManifestError(`${file}: holds no object`);
  return manifests;
}
