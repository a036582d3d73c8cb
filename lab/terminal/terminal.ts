/** Where the lab writes for people: how wide it is, whether it is a terminal at all, and whether it may be coloured. */
import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';

export type Colours = ReturnType<typeof pc.createColors>;

export interface OutputStream {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export interface Terminal {
  /** A person may be watching: lines can be rewritten. */
  readonly interactive: boolean;
  /** Columns; Infinity when it is a pipe or a file, where a line may be as long as it likes. */
  readonly width: number;
  readonly colours: Colours;
  write(text: string): void;
  line(text?: string): void;
}

/**
 * Colour and live lines only where the stream is a terminal. NO_COLOR (any value but empty, see no-color.org) and
 * TERM=dumb take colour away; TERM=dumb and CI take the live lines away too.
 */
export function openTerminal(
  stream: OutputStream = process.stdout,
  environment: NodeJS.ProcessEnv = process.env,
): Terminal {
  const isTerminal = stream.isTTY === true;
  const dumb = environment.TERM === 'dumb';
  return {
    interactive: isTerminal && !dumb && !environment.CI,
    get width() {
      return isTerminal ? (stream.columns ?? 80) : Number.POSITIVE_INFINITY;
    },
    colours: pc.createColors(isTerminal && !dumb && !environment.NO_COLOR),
    write: (text) => void stream.write(text),
    line: (text = '') => void stream.write(`${text}\n`),
  };
}

/** Columns a text takes, without what only colours it. */
export function displayWidth(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}
