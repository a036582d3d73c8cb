/**
 * Reads the few kinds that kubectl sends as Kubernetes protobuf and nothing else: `kubectl create namespace`, `create
 * configmap`, `create service`, `auth can-i`, `auth whoami`. Everything else arrives as JSON. Field numbers are those of
 * the generated.proto files of k8s.io/api and k8s.io/apimachinery; they never change.
 */
import { unsupportedMediaType } from './status.ts';

export const protobufType = 'application/vnd.kubernetes.protobuf';

type FieldType = 'string' | 'bool' | 'int' | 'bytes' | 'intOrString' | 'ignored' | 'text map' | 'bytes map' | Message;
interface Field {
  name: string;
  type: FieldType;
  repeated?: boolean;
}
type Message = { [number: number]: Field };

const text = (name: string): Field => ({ name, type: 'string' });
const ignored: Field = { name: '', type: 'ignored' };

const objectMeta: Message = {
  1: text('name'),
  2: text('generateName'),
  3: text('namespace'),
  // What only a server sets: proto2 writes it even where it is empty.
  4: ignored,
  5: ignored,
  6: ignored,
  7: ignored,
  8: ignored,
  11: { name: 'labels', type: 'text map' },
  12: { name: 'annotations', type: 'text map' },
  14: { name: 'finalizers', type: 'string', repeated: true },
};
const metadata: Field = { name: 'metadata', type: objectMeta };

const servicePort: Message = {
  1: text('name'),
  2: text('protocol'),
  3: { name: 'port', type: 'int' },
  4: { name: 'targetPort', type: 'intOrString' },
  5: { name: 'nodePort', type: 'int' },
};
const serviceSpec: Message = {
  1: { name: 'ports', type: servicePort, repeated: true },
  2: { name: 'selector', type: 'text map' },
  3: text('clusterIP'),
  4: text('type'),
  7: text('sessionAffinity'),
  8: text('loadBalancerIP'),
  10: text('externalName'),
  11: text('externalTrafficPolicy'),
  12: ignored,
  13: ignored,
};
const resourceAttributes: Message = {
  1: text('namespace'),
  2: text('verb'),
  3: text('group'),
  4: text('version'),
  5: text('resource'),
  6: text('subresource'),
  7: text('name'),
};
const reviewSpec: Message = {
  1: { name: 'resourceAttributes', type: resourceAttributes },
  2: { name: 'nonResourceAttributes', type: { 1: text('path'), 2: text('verb') } },
};

const kinds: Record<string, Message> = {
  'v1 Namespace': { 1: metadata, 2: ignored, 3: ignored },
  'v1 ConfigMap': {
    1: metadata,
    2: { name: 'data', type: 'text map' },
    3: { name: 'binaryData', type: 'bytes map' },
    4: { name: 'immutable', type: 'bool' },
  },
  'v1 Service': { 1: metadata, 2: { name: 'spec', type: serviceSpec }, 3: ignored },
  'authorization.k8s.io/v1 SelfSubjectAccessReview': { 1: metadata, 2: { name: 'spec', type: reviewSpec }, 3: ignored },
  'authentication.k8s.io/v1 SelfSubjectReview': { 1: metadata, 2: ignored },
};

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): number {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw new Error('the message ends inside a number');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
  }

  block(): Buffer {
    const length = this.varint();
    const end = this.#at + length;
    if (length < 0 || end > this.#bytes.length) throw new Error('the message ends inside a field');
    const block = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return block;
  }
}

function readMessage(bytes: Buffer, message: Message): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const reader = new Reader(bytes);
  while (!reader.done) {
    const tag = reader.varint();
    const raw = (tag & 7) === 0 ? reader.varint() : (tag & 7) === 2 ? reader.block() : undefined;
    const field = message[tag >>> 3];
    // A field that would be lost in silence is refused instead.
    if (field === undefined || raw === undefined) throw new Error(`field ${tag >>> 3} is not known`);
    if (field.type === 'ignored') continue;
    if (field.type === 'text map' || field.type === 'bytes map') {
      if (typeof raw === 'number') throw new Error(`${field.name} is no map`);
      const value: Field = { name: 'value', type: field.type === 'text map' ? 'string' : 'bytes' };
      const entry = readMessage(raw, { 1: text('key'), 2: value });
      result[field.name] = { ...(result[field.name] as object), [String(entry.key ?? '')]: entry.value ?? '' };
    } else if (field.repeated === true) {
      result[field.name] = [...((result[field.name] as unknown[]) ?? []), readValue(field, raw)];
    } else {
      const value = readValue(field, raw);
      // proto2 writes empty texts of fields that JSON leaves out.
      if (value !== '' && value !== 0) result[field.name] = value;
    }
  }
  return result;
}

function readValue({ name, type }: Field, raw: number | Buffer): unknown {
  if (typeof raw === 'number') {
    if (type === 'int') return raw;
    if (type === 'bool') return raw !== 0;
    throw new Error(`${name} is a number`);
  }
  if (type === 'string') return raw.toString('utf8');
  if (type === 'bytes') return raw.toString('base64');
  if (type === 'intOrString') {
    const parts = readMessage(raw, {
      1: { name: 'type', type: 'int' },
      2: { name: 'number', type: 'int' },
      3: text('text'),
    });
    return parts.type === 1 ? parts.text : (parts.number ?? 0);
  }
  if (typeof type === 'object') return readMessage(raw, type);
  throw new Error(`${name} is no number`);
}

/** The JSON form of a body in Kubernetes protobuf. Throws 415 naming what is not understood. */
export function decodeProtobuf(body: Buffer): unknown {
  if (body.subarray(0, 4).toString('latin1') !== 'k8s\0') throw unsupportedMediaType(['application/json']);
  const envelope = readMessage(body.subarray(4), {
    1: { name: 'type', type: { 1: text('apiVersion'), 2: text('kind') } },
    2: { name: 'raw', type: 'bytes' },
    3: text('contentEncoding'),
    4: text('contentType'),
  });
  const { apiVersion, kind } = envelope.type as { apiVersion: string; kind: string };
  const message = kinds[`${apiVersion} ${kind}`];
  if (message === undefined) throw unsupportedMediaType([`application/json for ${apiVersion} ${kind}`]);
  try {
    return { apiVersion, kind, ...readMessage(Buffer.from(String(envelope.raw ?? ''), 'base64'), message) };
  } catch (error) {
    throw unsupportedMediaType([`application/json (${apiVersion} ${kind}: ${(error as Error).message})`]);
  }
}
