/** How a machine is reached for a person's command or shell. */
import type { SshTarget } from '../ssh/ssh-connection.ts';

export interface ShellAccess {
  target: SshTarget;
  /** Path of the private key. */
  privateKey: string;
}
