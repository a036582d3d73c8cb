import { scenario } from '../../lab/scenario/scenario.ts';
import { edge, multiClass, secondEdge } from '../echo-pod.ts';
import { podSpeaksFirst } from '../pod-first.ts';

export default scenario({
  sentence:
    'Under Multi too a pod that speaks first after its client was forgotten is not heard, and all is as before, under the same port, as soon as the client speaks',
  run: (t) => podSpeaksFirst(t, 'worker-b', multiClass, [edge.address, secondEdge.address], { isHeard: false }),
});
