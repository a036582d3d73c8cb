/** The API server's configuration file. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const schema = z.strictObject({
  /** Where TLS is served. Absent: only the unix socket. Port 0 takes a free one, which the ready line names. */
  listen: z.strictObject({ address: z.string(), port: z.int().min(0).max(65535) }).optional(),
  /** Plain HTTP for the lab's driver, who is taken for the cluster's admin there; also the only way to set faults. */
  unixSocket: z.string(),
  /** PEM texts, or paths of files that hold them. Required with `listen`. */
  tls: z.strictObject({ ca: z.string(), cert: z.string(), key: z.string() }).optional(),
  /** Bearer token -> user name. */
  tokens: z.record(z.string(), z.string()).default({}),
  /** Every *.yaml in these folders is created at start; each must be a CustomResourceDefinition. */
  crdFolders: z.array(z.string()).default([]),
  /** One JSON line per request goes here; absent: no request log. `stderr` is understood. */
  logFile: z.string().optional(),
  /** Changes remembered per resource; a watch from before them gets 410. Default 1000. */
  historySize: z.int().min(0).optional(),
  /** Seconds between bookmarks on a watch that allows them. Default 60, as on a real server. */
  bookmarkSeconds: z.number().positive().optional(),
});

/** As a driver writes it. */
export type ApiServerConfig = z.input<typeof schema>;
/** With the defaults filled in. */
export type ParsedConfig = z.output<typeof schema>;

/** Throws an Error naming the file and each field at fault. */
export function parseConfig(source: unknown, file: string): ParsedConfig {
  const result = schema.safeParse(source);
  if (!result.success) {
    const faults = result.error.issues.map((issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`);
    throw new Error(`${file}: ${faults.join('; ')}`);
  }
  const { listen, tls } = result.data;
  if (listen !== undefined && tls === undefined) throw new Error(`${file}: tls: needed where listen is given`);
  return result.data;
}

export function readConfig(file: string): ParsedConfig {
  let source: unknown;
  try {
    source = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: cannot be read as JSON: ${(error as Error).message}`, { cause: error });
  }
  return parseConfig(source, file);
}

/** A PEM text given in place or as a path. Throws an Error naming the path that cannot be read. */
export function pem(textOrPath: string): string {
  if (textOrPath.startsWith('-----BEGIN')) return textOrPath;
  return readFileSync(textOrPath, 'utf8');
}
