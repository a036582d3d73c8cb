/**
 * Kubernetes Events. For conditions that change: one when a condition becomes False, one when it is True again. Written
 * by the agent that has written the status, whose PUT carries the resourceVersion it replaced: nobody else has made
 * that change. And for drift: one on the Node for each pass that has put back what others had undone there.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiVersion, type Condition, type PortMap, type PortMapClass } from '../api/types.ts';
import type { ApiClient } from '../cluster/api-client.ts';
import { ApiError, isConflict } from '../cluster/api-error.ts';
import type { Repair } from '../datapath/repairs.ts';
import { TokenBucket } from './token-bucket.ts';

/** What an Event is about. */
interface Regarding {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; uid?: string; resourceVersion?: string };
}

/** What an Event says of an object. */
export interface EventText {
  type: 'Normal' | 'Warning';
  reason: string;
  /** What was done, in one word, as the Event API asks for. */
  action: string;
  note: string;
}

/** Events of an object at once, and how many milliseconds bring one more: a mapping that flaps must not fill etcd. */
const objectBurst = 10;
const objectRefillMs = 60_000;
/** The same for all objects of this agent: a node that goes down changes thousands of mappings in one pass. */
const agentBurst = 100;
const agentRefillMs = 1000;
/** Objects whose rate is remembered. */
const rememberedObjects = 1000;

/** Repairs that the note of an event names. */
const shownRepairs = 5;

const attempts = 3;
const retryMs = 1000;

/** Bytes of a note, and of the name of an instance, that the API takes. */
const noteLimit = 1024;
const instanceLimit = 128;
/** Characters of an object's name that leave room for a suffix in an Event's. */
const nameLimit = 200;

const actions: Record<string, string> = { Accepted: 'Admit', Programmed: 'Program', Ready: 'Judge' };

/** What there is to say of a condition that is True. */
function goodNews(type: string, addresses: string | undefined): string {
  if (type === 'Programmed' && addresses !== undefined) return `Answers on ${addresses}`;
  return type === 'Ready' ? 'Can be served' : `${type}: nothing stands in the way`;
}

/**
 * What a change of conditions has to say: those that became False, and those that are True after having been False.
 * @param addresses where a mapping answers
 */
export function eventsOfChange(
  before: readonly Condition[],
  after: readonly Condition[],
  addresses?: string,
): EventText[] {
  return after.flatMap(({ type, status, reason, message }): EventText[] => {
    const old = before.find((each) => each.type === type)?.status;
    const action = actions[type] ?? type;
    if (status === 'False' && old !== 'False') {
      // The event of Accepted has said it, in the same words.
      if (reason === 'NotAccepted') return [];
      // On the way to where everything is well: nothing to be warned of.
      const severity = reason === 'LinkPending' ? 'Normal' : 'Warning';
      return [{ type: severity, reason, action, note: message }];
    }
    if (status === 'True' && old === 'False')
      return [{ type: 'Normal', reason, action, note: message || goodNews(type, addresses) }];
    return [];
  });
}

/** What a pass that has put something back has to say. */
export function eventOfRepairs(repairs: readonly Repair[]): EventText {
  const more = repairs.length - shownRepairs;
  const details = repairs.slice(0, shownRepairs).map(({ detail }) => detail);
  const list = [...details, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
  return {
    type: 'Warning',
    reason: 'DriftRepaired',
    action: 'Repair',
    note: `Somebody had undone what kuport needs on this node; put back: ${list}`,
  };
}

export interface EventRecorderEvents {
  /** An event was not written. */
  onError(what: string, error: Error): void;
}

export class EventRecorder {
  readonly #api: ApiClient;
  readonly #node: string;
  readonly #events: EventRecorderEvents;
  readonly #all = new TokenBucket(agentBurst, agentRefillMs);
  readonly #objects = new Map<string, { bucket: TokenBucket; dropped: number }>();

  /** @param node this agent's, which an Event names as its source */
  constructor(api: ApiClient, node: string, events: EventRecorderEvents) {
    this.#api = api;
    this.#node = node;
    this.#events = events;
  }

  /**
   * Says what a status that has just been written changes. Above the limits nothing is written; the next event of the
   * object tells how many were left out.
   */
  async statusWritten(object: PortMap | PortMapClass, before: PortMap | PortMapClass): Promise<void> {
    const addresses = object.kind === 'PortMap' ? object.status?.addresses : undefined;
    const texts = eventsOfChange(before.status?.conditions ?? [], object.status?.conditions ?? [], addresses);
    const { kind, metadata } = object;
    await Promise.all(texts.map((text) => this.#record({ apiVersion, kind, metadata }, text)));
  }

  /**
   * Says on this agent's Node what has been put back there. The same limits hold.
   * @param uid the Node's, which `kubectl describe node` looks for; undefined where the Node is not there
   */
  async driftRepaired(repairs: readonly Repair[], uid: string | undefined): Promise<void> {
    if (repairs.length === 0) return;
    const metadata = { name: this.#node, ...(uid === undefined ? {} : { uid }) };
    await this.#record({ apiVersion: 'v1', kind: 'Node', metadata }, eventOfRepairs(repairs));
  }

  async #record(object: Regarding, text: EventText): Promise<void> {
    const { namespace, name, uid } = object.metadata;
    const key = uid ?? `${object.kind}/${namespace}/${name}`;
    const rate = this.#rateOf(key);
    if (!rate.bucket.take() || !this.#all.take()) {
      rate.dropped += 1;
      return;
    }
    const left = rate.dropped === 0 ? '' : ` (${rate.dropped} events left out before this one)`;
    rate.dropped = 0;
    await this.#post(object, { ...text, note: `${cut(text.note, noteLimit - left.length)}${left}` });
  }

  /** The oldest rate is forgotten when there are too many: its object gets a full one when it comes again. */
  #rateOf(key: string): { bucket: TokenBucket; dropped: number } {
    const rate = this.#objects.get(key) ?? { bucket: new TokenBucket(objectBurst, objectRefillMs), dropped: 0 };
    this.#objects.delete(key);
    this.#objects.set(key, rate);
    const [oldest] = this.#objects.keys();
    if (this.#objects.size > rememberedObjects && oldest !== undefined) this.#objects.delete(oldest);
    return rate;
  }

  async #post({ apiVersion, kind, metadata }: Regarding, { type, reason, action, note }: EventText): Promise<void> {
    // Events of what is in no namespace are kept in this one.
    const namespace = metadata.namespace ?? 'default';
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { namespace, name: `${metadata.name.slice(0, nameLimit)}.${randomUUID().slice(0, 18)}` },
      // MicroTime: six digits after the second.
      eventTime: new Date().toISOString().replace('Z', '000Z'),
      reportingController: 'kuport.wlz.li/agent',
      reportingInstance: cut(this.#node, instanceLimit),
      regarding: { apiVersion, kind, ...identity(metadata) },
      type,
      reason,
      action,
      note,
    };
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#api.post(path, event);
        return;
      } catch (error) {
        // An answer that got lost: it is there under this name already.
        if (isConflict(error)) return;
        if (attempt === attempts || isFinal(error)) {
          this.#events.onError(`POST ${path}`, error as Error);
          return;
        }
        const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await sleep(Math.max(asked, retryMs * attempt), undefined, { ref: false });
      }
    }
  }
}

function identity({
  namespace,
  name,
  uid,
  resourceVersion,
}: Regarding['metadata']): Record<string, string | undefined> {
  return { namespace, name, uid, resourceVersion };
}

/** Whether asking again would bring the same answer: a refusal, as in a namespace that is being deleted. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
}

/** @param limit bytes in UTF-8 */
function cut(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  // A character that the cut goes through shows as U+FFFD, which is taken off.
  return `${bytes
    .subarray(0, limit - 3)
    .toString()
    .replace(/\uFFFD+$/, '')}…`;
}
