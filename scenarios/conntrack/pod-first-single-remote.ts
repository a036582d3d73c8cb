import { scenario } from '../../lab/scenario/scenario.ts';
import { edge, edgeClass } from '../echo-pod.ts';
import { podSpeaksFirst } from '../pod-first.ts';

export default scenario({
  sentence:
    'A pod on another node that speaks first after its client was forgotten is not heard; as soon as the client speaks all is as before, under the same port',
  run: (t) => podSpeaksFirst(t, 'worker-b', edgeClass, [edge.address], { isHeard: false }),
});
