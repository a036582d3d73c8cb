/** Boots a lab while telling a person what it is doing; Ctrl-C ends what has been made so far. */
import { join } from 'node:path';
import type { Host } from '../backends/host.ts';
import { sweepDeadLabs } from '../backends/netns/state-folder.ts';
import { collectEvidence } from '../evidence/collect.ts';
import { Lab, type LabOptions } from '../lab.ts';
import { preflight } from '../preflight/preflight.ts';
import { projectRoot } from '../project.ts';
import { evidenceSources } from '../scenario/runner.ts';
import { formatDuration } from '../terminal/duration.ts';
import type { Progress } from '../terminal/progress.ts';
import { type BackendOptions, backendRequest } from './backend-options.ts';

export const reportFolder = join(projectRoot, 'out', 'report');

/** Set-up failed; the evidence of it lies in a folder. */
export class SetUpError extends Error {
  override readonly name = 'SetUpError';
  /** Relative to the report's folder; null when there was nothing to collect. */
  readonly evidenceFolder: string | null;

  constructor(message: string, report: string, evidenceFolder: string | null, cause: unknown) {
    super(evidenceFolder === null ? message : `${message}\nwhat the hosts held: ${join(report, evidenceFolder)}`, {
      cause,
    });
    this.evidenceFolder = evidenceFolder;
  }
}

/**
 * @throws PreflightError, LabExistsError, SetUpError
 */
export async function boot(
  options: LabOptions,
  backend: BackendOptions,
  progress: Progress,
  report = reportFolder,
): Promise<Lab> {
  // Vagrant's machines bring all else themselves.
  if (backend.backend !== 'vagrant')
    await preflight({ install: true, forMachines: backend.backend === 'vm', say: (line) => progress.line(line) });
  await sweepDeadLabs();
  const request = await backendRequest(backend, options.topology, progress);
  let hosts: Host[] = [];
  let evidenceFolder: string | null = null;
  const step = progress.start(`lab "${options.name}" (${options.topology.name})`);
  try {
    const lab = await Lab.up({
      ...options,
      backend: request,
      onHosts: (made) => {
        hosts = made;
      },
      onFailure: async () => {
        if (hosts.length > 0) evidenceFolder = (await collectEvidence(report, 'set-up', evidenceSources(hosts))).folder;
      },
    });
    step.done(lab.state.phases.map((phase) => `${phase.name} ${formatDuration(phase.milliseconds)}`).join(', '));
    return lab;
  } catch (error) {
    const { message, name } = error as Error;
    step.fail(message.split('\n')[0] ?? '');
    if (name === 'LabExistsError') throw error;
    throw new SetUpError(message, report, evidenceFolder, error);
  }
}
