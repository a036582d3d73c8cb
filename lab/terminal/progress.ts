/** What is going on right now, and how long it has been: one living line on a terminal, plain lines elsewhere. */
import { formatDuration } from './duration.ts';
import type { Terminal } from './terminal.ts';
import { displayWidth } from './terminal.ts';

export interface Step {
  /** Says how far it has come, behind its title. */
  update(detail: string): void;
  /** Ends the step well; `detail` follows its time. */
  done(detail?: string): void;
  /** Ends the step badly. */
  fail(reason: string): void;
}

/** Milliseconds between two drawings of the living line. */
const REDRAW = 100;
/** In a log, a step that goes on says so this often, so that a hung run shows where it hangs. */
const REMINDER = 15_000;

/**
 * Steps may overlap; the living line shows the one begun last. Everything else that is written while steps are running
 * goes through `line`, so that it does not land in the middle of the living line.
 */
export class Progress {
  readonly #terminal: Terminal;
  readonly #running: { title: string; detail: string; started: number; reminded: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #drawn = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  start(title: string): Step {
    const now = performance.now();
    const step = { title, detail: '', started: now, reminded: now };
    this.#running.push(step);
    // unref: a step that nobody ended must not keep the process alive.
    this.#timer ??= setInterval(() => this.#tick(), REDRAW).unref();
    this.#draw();
    const end = (sign: string, rest: string): void => {
      const index = this.#running.indexOf(step);
      if (index < 0) return;
      this.#running.splice(index, 1);
      if (this.#running.length === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
      const time = this.#terminal.colours.dim(formatDuration(performance.now() - step.started));
      this.line(`${sign} ${title} ${time}${rest}`);
    };
    const { green, red } = this.#terminal.colours;
    return {
      update: (detail) => {
        step.detail = `: ${detail}`;
        this.#draw();
      },
      done: (detail) => end(green('✓'), detail ? ` ${detail}` : ''),
      fail: (reason) => end(red('✗'), `: ${reason}`),
    };
  }

  /** Runs `work` as a step and passes on its result or its error. */
  async during<Result>(title: string, work: () => Promise<Result>): Promise<Result> {
    const step = this.start(title);
    try {
      const result = await work();
      step.done();
      return result;
    } catch (error) {
      step.fail(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
      throw error;
    }
  }

  /** Writes a line above the living one. */
  line(text = ''): void {
    this.#erase();
    this.#terminal.line(text);
    this.#draw();
  }

  #tick(): void {
    if (this.#terminal.interactive) {
      this.#draw();
      return;
    }
    const now = performance.now();
    for (const step of this.#running) {
      if (now - step.reminded < REMINDER) continue;
      step.reminded = now;
      this.#terminal.line(`… ${step.title}${step.detail}, ${formatDuration(now - step.started)} so far`);
    }
  }

  #draw(): void {
    const step = this.#running.at(-1);
    if (!this.#terminal.interactive || !step) return;
    const time = formatDuration(Math.floor((performance.now() - step.started) / 100) * 100);
    // One column short of the edge: a full line would wrap, and the erasing would miss half of it.
    const room = this.#terminal.width - displayWidth(time) - 4;
    const text = step.title + step.detail;
    const title = text.length > room ? `${text.slice(0, Math.max(0, room - 1))}…` : text;
    this.#erase();
    this.#terminal.write(`${this.#terminal.colours.cyan('›')} ${title} ${this.#terminal.colours.dim(time)}`);
    this.#drawn = true;
  }

  #erase(): void {
    if (this.#drawn) this.#terminal.write('\r\u001b[K');
    this.#drawn = false;
  }
}
