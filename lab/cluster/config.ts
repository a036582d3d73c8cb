/** The API server's configuration file. */
import { readFileSync } from 'node:fs';
// The small build: the whole of zod adds 750 KB to a program that has to start at once.
import * as z from 'zod/mini';

const schema = z.strictObject({
  /** Where TLS is served. Absent: only the unix socket. Port 0 takes a free one, which the ready line names. */
  listen: z.optional(z.strictObject({ address: z.string(), port: z.int().check(z.minimum(0), z.maximum(65535)) })),
  /** Plain HTTP for the lab's driver, who is taken for the cluster's admin there; also the only way to set faults. */
  unixSocket: z.string(),
  /** PEM texts, or paths of files that hold them. Required with `listen`. */
  tls: z.optional(z.strictObject({ ca: z.string(), cert: z.string(), key: z.string() })),
  /** Bearer token -> user name. */
  tokens: z._default(z.record(z.string(), z.string()), {}),
  /** Every *.yaml in these folders is created at start; each must be a CustomResourceDefinition. */
  crdFolders: z._default(z.array(z.string()), []),
  /** One JSON line per request goes here; absent: no request log. `stderr` is understood. */
  logFile: z.optional(z.string()),
  /** Changes remembered per resource; a watch from before them gets 410. Default 1000. */
  historySize: z.optional(z.int().check(z.minimum(0))),
  /** Seconds between bookmarks on a watch that allows them. Default 60, as on a real server. */
  bookmarkSeconds: z.optional(z.number().check(z.positive())),
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
