/** A request taken apart: which resource, namespace, object and subresource its path means, and who sent it. */
import type { IncomingMessage } from 'node:http';
import { parse as parseYaml } from 'yaml';
import { decodeProtobuf, protobufType } from './protobuf.ts';
import type { Registry, Resource } from './resource.ts';
import { ApiError, badRequest, noSuchPath, unsupportedMediaType } from './status.ts';

export interface User {
  name: string;
  groups: readonly string[];
}

export interface ApiRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  user: User;
  accept: string | undefined;
  /** Without parameters. */
  contentType: string;
  body: Buffer;
}

export interface Target {
  resource: Resource;
  namespace: string | undefined;
  name: string | undefined;
  subresource: string;
}

const largestBody = 3 * 1024 * 1024;

/** The whole body. Throws 413 above 3 MiB, the limit of the real server. */
export async function readBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > largestBody) {
      throw new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${largestBody}`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The body as a JSON value; YAML is taken too. Throws 400 or 415. */
export function parseBody(request: ApiRequest): unknown {
  switch (request.contentType) {
    case '':
    case 'application/json':
    case 'application/merge-patch+json':
    case 'application/strategic-merge-patch+json':
    case 'application/json-patch+json':
      try {
        return JSON.parse(request.body.toString('utf8'));
      } catch (error) {
        throw badRequest(`the body of the request is not JSON: ${(error as Error).message}`);
      }
    case 'application/yaml':
    case 'application/apply-patch+yaml':
      try {
        return parseYaml(request.body.toString('utf8'));
      } catch (error) {
        throw badRequest(`the body of the request is not YAML: ${(error as Error).message}`);
      }
    case protobufType:
      return decodeProtobuf(request.body);
    default:
      throw unsupportedMediaType(['application/json', 'application/yaml']);
  }
}

/** What a path below /api/v1 or /apis/GROUP/VERSION means. Throws 404 where nothing is served. */
export function findTarget(registry: Registry, path: string): Target {
  const steps = path
    .split('/')
    .filter((step) => step !== '')
    .map(decodeURIComponent);
  const isCore = steps[0] === 'api';
  const group = isCore ? '' : (steps[1] ?? '');
  const version = (isCore ? steps[1] : steps[2]) ?? '';
  let rest = steps.slice(isCore ? 2 : 3);
  let namespace: string | undefined;
  const [first, second, third] = rest;
  // namespaces/NAME/status is a part of the namespace itself, namespaces/NAME/pods lies inside it.
  if (
    first === 'namespaces' &&
    second !== undefined &&
    third !== undefined &&
    !['status', 'finalize'].includes(third)
  ) {
    namespace = second;
    rest = rest.slice(2);
  }
  const [plural, name, subresource = '', ...more] = rest;
  const resource = plural === undefined ? undefined : registry.find(group, version, plural);
  if (resource === undefined || more.length > 0) throw noSuchPath();
  if (namespace !== undefined && !resource.namespaced) throw noSuchPath();
  if (resource.namespaced && name !== undefined && namespace === undefined) throw noSuchPath();
  if (subresource !== '' && !(subresource === 'status' && resource.hasStatus)) throw noSuchPath();
  return { resource, namespace, name, subresource };
}
