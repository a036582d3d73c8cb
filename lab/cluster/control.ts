/** What only the lab's driver may ask, on the unix socket: faults, compaction, the end of all watches. */
import type { Api, Reply } from './api.ts';
import type { Faults } from './faults.ts';
import { type ApiRequest, parseBody } from './request.ts';
import { methodNotAllowed } from './status.ts';

/**
 * POST /lab/faults sets one (see faults.ts) and answers its number; GET lists them with their hits; DELETE lifts all,
 * DELETE /lab/faults/N one. POST /lab/compact forgets past versions. POST /lab/end-watches closes every watch, GET /lab/watches
 * lists those that are open.
 * Undefined for any other path.
 */
export function answerControl(api: Api, faults: Faults, request: ApiRequest): Reply | undefined {
  if (!request.path.startsWith('/lab/')) return undefined;
  const [, , what, id] = request.path.split('/');
  switch (`${request.method} ${what}`) {
    case 'POST faults':
      return { code: 201, body: { id: faults.add(parseBody(request)) } };
    case 'GET faults':
      return { code: 200, body: { faults: faults.list() } };
    case 'DELETE faults':
      faults.lift(id === undefined ? undefined : Number(id));
      return { code: 200, body: {} };
    case 'POST compact':
      api.compact();
      return { code: 200, body: { oldestVersion: api.store.version } };
    case 'GET watches':
      return { code: 200, body: { watches: api.openWatches() } };
    case 'POST end-watches':
      return { code: 200, body: { ended: api.endWatches() } };
    default:
      throw methodNotAllowed();
  }
}
