import { scenario } from '../../lab/scenario/scenario.ts';
import { edge, edgeClass } from '../echo-pod.ts';
import { podSpeaksFirst } from '../pod-first.ts';

export default scenario({
  sentence:
    'A pod on the accepting node that speaks first after its client was forgotten is heard all the same: the masquerade gives it the address that was dialled, and nothing changes for either',
  run: (t) => podSpeaksFirst(t, edge.name, edgeClass, [edge.address], { isHeard: true }),
});
