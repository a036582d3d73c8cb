import { scenario } from '../../lab/scenario/scenario.ts';
import { edge, edgeClass } from '../echo-pod.ts';
import { pushToIdleClients } from '../idle-clients.ts';

export default scenario({
  sentence:
    "With idleTimeout a server's push reaches a client that was silent for longer than the nodes remember, on the same node and across nodes; without it the push is lost",
  run: (t) => pushToIdleClients(t, edgeClass, [edge.address]),
});
