/** The paths that tell what the server is: discovery, OpenAPI, version and health. */
import {
  aggregatedDiscovery,
  aggregatedType,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  version,
} from './discovery.ts';
import { openApiDocument, openApiIndex } from './openapi.ts';
import type { ApiRequest } from './request.ts';
import type { Registry } from './resource.ts';
import { ApiError, noSuchPath } from './status.ts';

/** Answered to anyone, as system:public-info-viewer allows on a real cluster. */
export const publicPaths: readonly string[] = ['/healthz', '/livez', '/readyz', '/version'];

interface Answer {
  code: number;
  body: unknown;
  contentType?: string;
}

/** The answer, or undefined where the path is none of these. Throws 404 for a group that is not served. */
export function answerDiscovery(registry: Registry, request: ApiRequest): Answer | undefined {
  const path = request.path.length > 1 ? request.path.replace(/\/$/, '') : request.path;
  if (request.method !== 'GET') return undefined;
  const steps = path.split('/').slice(1);
  if (path === '/version') return { code: 200, body: version };
  if (publicPaths.includes(path)) return { code: 200, body: 'ok', contentType: 'text/plain; charset=utf-8' };
  if (path === '/') return { code: 200, body: { paths: ['/api', '/apis', '/openapi/v3', ...publicPaths] } };
  if (path === '/api' || path === '/apis') {
    const aggregated = aggregatedType(request.accept);
    const isCore = path === '/api';
    if (aggregated !== undefined) {
      return { code: 200, body: aggregatedDiscovery(registry, isCore), contentType: aggregated };
    }
    return { code: 200, body: isCore ? apiVersions() : apiGroupList(registry) };
  }
  if (steps[0] === 'api' && steps.length === 2) return found(apiResourceList(registry, '', steps[1] ?? ''));
  if (steps[0] === 'apis' && steps.length === 2) return found(apiGroup(registry, steps[1] ?? ''));
  if (steps[0] === 'apis' && steps.length === 3)
    return found(apiResourceList(registry, steps[1] ?? '', steps[2] ?? ''));
  if (path === '/openapi/v3') return { code: 200, body: openApiIndex(registry) };
  if (path.startsWith('/openapi/v3/')) return found(openApiDocument(registry, path.slice('/openapi/v3/'.length)));
  if (path === '/openapi/v2') return openApiV2(request);
  return undefined;
}

function found(body: object | undefined): Answer {
  if (body === undefined) throw noSuchPath();
  return { code: 200, body };
}

/** Version 2 in JSON, without any definition: kubectl has used version 3 since 1.27, older ones ask for protobuf. */
function openApiV2(request: ApiRequest): Answer {
  if (request.accept?.includes('json') === false && !request.accept.includes('*/*')) {
    throw new ApiError(406, 'NotAcceptable', 'only application/json is served here; see /openapi/v3', {});
  }
  const info = { title: 'Kubernetes', version: version.gitVersion };
  return { code: 200, body: { swagger: '2.0', info, paths: {}, definitions: {} } };
}
