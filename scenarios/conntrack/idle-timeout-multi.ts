import { scenario } from '../../lab/scenario/scenario.ts';
import { edge, multiClass, secondEdge } from '../echo-pod.ts';
import { pushToIdleClients } from '../idle-clients.ts';

export default scenario({
  sentence:
    "Under Multi idleTimeout holds on every accepting node and on the pod's: pushes to silent clients come from the node that each had dialled; without it they are lost",
  run: (t) => pushToIdleClients(t, multiClass, [edge.address, secondEdge.address]),
});
