/**
 * One ssh connection to a machine, over which everything goes: each station is a channel of it. Loaded by the holder only
 * when a lab has machines.
 */
import { createReadStream, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import ssh2, { type ClientChannel } from 'ssh2';

/** ChaCha20 first: an emulated processor has no instructions for AES. */
const algorithms: ssh2.Algorithms = {
  cipher: ['chacha20-poly1305@openssh.com', 'aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr'],
};

/** How a machine is reached: a socket whose other end is its ssh daemon, or an address. */
export type SshTarget = { socketPath: string } | { address: string; port: number };

export interface SshOptions {
  machine: string;
  target: SshTarget;
  username: string;
  /** Path of the private key. */
  privateKey: string;
  /** Milliseconds until the connection is given up. */
  timeoutMs: number;
}

export interface CommandEnd {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Twice in 3,000 commands an answer of an emulated machine stayed in its serial port until the next message came, a minute
 * later (measured with QEMU 7.2): this is the next message. Milliseconds.
 */
const keepaliveMs = 2000;
/** A machine that is only slow must not be given up here: the waits of those who ask it are for that. */
const keepalivesUnanswered = 60;

export class SshConnection {
  /** Settles when the connection is gone, with the reason. */
  readonly closed: Promise<Error>;
  readonly #client: ssh2.Client;
  readonly #machine: string;

  private constructor(machine: string, client: ssh2.Client) {
    this.#machine = machine;
    this.#client = client;
    this.closed = new Promise((resolve) => {
      let failure: Error | undefined;
      client.on('error', (error) => {
        failure = error;
      });
      client.on('close', () =>
        resolve(
          new Error(`${machine}: its ssh connection closed${failure === undefined ? '' : `: ${failure.message}`}`),
        ),
      );
    });
  }

  /**
   * A daemon behind a socket waits for a line before it speaks; what it says before that would be lost.
   * @throws Error naming the machine and what went wrong
   */
  static async open(options: SshOptions): Promise<SshConnection> {
    const { machine, target, username, privateKey, timeoutMs } = options;
    const client = new ssh2.Client();
    const connection = new SshConnection(machine, client);
    const ready = new Promise<void>((resolve, reject) => {
      client.once('ready', resolve);
      void connection.closed.then(reject);
      client.once('error', (error) => reject(new Error(`${machine}: cannot connect with ssh: ${error.message}`)));
    });
    const common = {
      username,
      privateKey: readFileSync(privateKey),
      readyTimeout: timeoutMs,
      keepaliveInterval: keepaliveMs,
      keepaliveCountMax: keepalivesUnanswered,
      algorithms,
    };
    if ('socketPath' in target) {
      const sock = await openSocket(target.socketPath);
      sock.write('connect\n');
      client.connect({ ...common, sock });
    } else client.connect({ ...common, host: target.address, port: target.port });
    await ready;
    return connection;
  }

  /** Opens a channel that runs a shell command. */
  channel(command: string): Promise<ClientChannel> {
    return new Promise((resolve, reject) => {
      this.#client.exec(command, (error, channel) => {
        if (error) reject(new Error(`${this.#machine}: cannot run \`${command}\`: ${error.message}`));
        else resolve(channel);
      });
    });
  }

  /**
   * Runs a shell command to its end.
   * @param inputFile file sent to its standard input
   */
  async run(command: string, inputFile?: string): Promise<CommandEnd> {
    const channel = await this.channel(command);
    return new Promise((resolve, reject) => {
      let stdout = '';
      let stderr = '';
      let code = 255;
      channel.on('data', (chunk: Buffer) => {
        stdout += chunk.toString();
      });
      channel.stderr.on('data', (chunk: Buffer) => {
        stderr += chunk.toString();
      });
      channel.on('exit', (status: number | null) => {
        code = status ?? 255;
      });
      channel.on('close', () => resolve({ code, stdout, stderr }));
      void this.closed.then(reject);
      if (inputFile === undefined) channel.end();
      else createReadStream(inputFile).on('error', reject).pipe(channel);
    });
  }

  /** A shell with a terminal, for a person. */
  terminal(command: string, size: { rows: number; cols: number }, term: string): Promise<ClientChannel> {
    return new Promise((resolve, reject) => {
      this.#client.exec(command, { pty: { ...size, term, width: 0, height: 0 } }, (error, channel) => {
        if (error) reject(error);
        else resolve(channel);
      });
    });
  }

  /**
   * Makes a unix socket of the machine appear here.
   * @param localPath where to listen; whatever lies there is removed
   */
  async shareSocket(localPath: string, remotePath: string): Promise<void> {
    rmSync(localPath, { force: true });
    const server = net.createServer((client) => {
      client.on('error', () => undefined);
      this.#client.openssh_forwardOutStreamLocal(remotePath, (error, channel: Duplex) => {
        if (error) {
          client.destroy();
          return;
        }
        channel.on('error', () => client.destroy());
        channel.on('close', () => client.destroy());
        client.on('close', () => channel.destroy());
        client.pipe(channel).pipe(client);
      });
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(localPath, resolve);
    });
  }

  end(): void {
    this.#client.end();
  }
}

/** A fresh ed25519 key pair, as ssh writes it. */
export function makeKeyPair(comment: string): { private: string; public: string } {
  return ssh2.utils.generateKeyPairSync('ed25519', { comment });
}

function openSocket(path: string): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(path);
    socket.once('error', (error) => reject(new Error(`cannot connect to ${path}: ${error.message}`)));
    socket.once('connect', () => resolve(socket));
  });
}
