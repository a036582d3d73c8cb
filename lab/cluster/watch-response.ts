/** One watch: a stream of events as JSON lines. */
import type { ServerResponse } from 'node:http';
import type { KubernetesObject } from './objects.ts';
import type { Matches } from './selectors.ts';
import type { Store, StoreEvent } from './store.ts';

export interface WatchOptions {
  kind: string;
  apiVersion: string;
  kindName: string;
  namespace: string;
  matches: Matches;
  /** Events after this version. */
  version: number;
  bookmarks: boolean;
  timeoutSeconds: number;
  /** Send the objects there are first, then a bookmark that says so. */
  initialEvents: boolean;
  /** An event's object as the client asked for it (whole, or as a table row). */
  present(object: KubernetesObject): unknown;
}

/** A real server sends one about once a minute. */
const bookmarkMs = 30_000;

/** @throws StatusError Expired, before anything has been written */
export function serveWatch(response: ServerResponse, store: Store, options: WatchOptions): void {
  const { kind, namespace, matches, version } = options;
  const lines: string[] = [];
  let open = false;
  const send = (type: string, object: unknown): void => {
    const line = `${JSON.stringify({ type, object })}\n`;
    if (open) response.write(line);
    else lines.push(line);
  };
  const bookmark = (annotations?: Record<string, string>): void => {
    const metadata = { resourceVersion: String(store.version), ...(annotations === undefined ? {} : { annotations }) };
    send('BOOKMARK', { kind: options.kindName, apiVersion: options.apiVersion, metadata });
  };
  if (options.initialEvents) {
    for (const object of store.list(kind, namespace).filter(matches)) send('ADDED', options.present(object));
    bookmark({ 'k8s.io/initial-events-end': 'true' });
  }
  const from = options.initialEvents ? store.version : version;
  const stop = store.watch(kind, from, (event) => {
    const shown = seenThrough(event, namespace, matches);
    if (shown !== null) send(shown, options.present(event.object));
  });
  response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
  open = true;
  for (const line of lines) response.write(line);
  response.flushHeaders();
  const beat = options.bookmarks ? setInterval(bookmark, bookmarkMs) : undefined;
  const end = setTimeout(() => {
    if (options.bookmarks) bookmark();
    response.end();
  }, options.timeoutSeconds * 1000);
  response.on('close', () => {
    stop();
    clearInterval(beat);
    clearTimeout(end);
  });
}

/** What an event is to someone who sees only matching objects; null when it is nothing. */
function seenThrough(
  { type, object, previous }: StoreEvent,
  namespace: string,
  matches: Matches,
): StoreEvent['type'] | null {
  if (namespace !== '' && object.metadata.namespace !== namespace) return null;
  const now = type !== 'DELETED' && matches(object);
  const before = previous !== null && matches(previous);
  if (now) return before ? 'MODIFIED' : 'ADDED';
  return before ? 'DELETED' : null;
}
