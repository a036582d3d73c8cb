/** Writes a run down: results.json for programs, junit.xml for CI, index.html for people. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { junitXml } from './junit.ts';
import { reportPage } from './page.ts';
import { RESULTS_VERSION, type Run, type Summary, summarise } from './results.ts';

/** What results.json holds. */
export interface ResultsFile extends Run {
  version: number;
  summary: Summary;
}

export interface WrittenReport {
  page: string;
  junit: string;
  results: string;
}

/**
 * Writes the three files into a folder (`out/report`), each whole or not at all: a reader never sees half a file, and
 * a run that is killed here leaves the report before it.
 * @returns the paths written
 */
export async function writeReport(folder: string, run: Run): Promise<WrittenReport> {
  await mkdir(folder, { recursive: true });
  const file: ResultsFile = { version: RESULTS_VERSION, summary: summarise(run), ...run };
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(`${path}.part`, text);
    await rename(`${path}.part`, path);
    return path;
  };
  return {
    results: await write('results.json', `${JSON.stringify(file, null, 2)}\n`),
    junit: await write('junit.xml', junitXml(run)),
    page: await write('index.html', reportPage(run)),
  };
}

/**
 * Reads results.json, for `lab report`.
 * @throws Error naming the file when it is missing, is not JSON, or was written by another version of the lab
 */
export async function readResults(path: string): Promise<ResultsFile> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(
      `${path}: ${error.code === 'ENOENT' ? 'no results yet: run `make scenarios` first' : error.message}`,
    );
  });
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new Error(`${path}: not JSON: ${(error as Error).message}`);
  }
  const version = typeof parsed === 'object' && parsed !== null && 'version' in parsed ? parsed.version : undefined;
  if (version !== RESULTS_VERSION) {
    throw new Error(`${path}: written in version ${String(version)}, this lab reads version ${RESULTS_VERSION}`);
  }
  return parsed as ResultsFile;
}
