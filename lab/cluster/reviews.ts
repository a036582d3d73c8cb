/** Questions about oneself: may I, and who am I. Every known user may do everything until roles are served. */
import { reviews } from './discovery.ts';
import { isObject } from './object.ts';
import { type ApiRequest, parseBody } from './request.ts';
import { methodNotAllowed } from './status.ts';

export function answerReview(request: ApiRequest): { code: number; body: unknown } | undefined {
  const review = reviews.find(({ group, version, plural }) => request.path === `/apis/${group}/${version}/${plural}`);
  if (review === undefined) return undefined;
  if (request.method !== 'POST') throw methodNotAllowed();
  const { kind, group, version } = review;
  const sent = parseBody(request);
  const { name, groups } = request.user;
  const status = kind === 'SelfSubjectReview' ? { userInfo: { username: name, groups } } : { allowed: true };
  const spec = isObject(sent) && sent.spec !== undefined ? { spec: sent.spec } : {};
  const body = { kind, apiVersion: `${group}/${version}`, metadata: { creationTimestamp: null }, ...spec, status };
  return { code: 201, body };
}
