/** Errors and warnings the lab shows: what is wrong, where, and what to do about it. Never only the first. */
import type { Colours } from './terminal.ts';

export interface Problem {
  /** What is wrong, with the value that was found: `unknown field "natkind"`. */
  what: string;
  /** File and line, host and command, or object. */
  where?: string;
  /** The next thing to do, as an instruction. */
  todo?: string;
}

/** `error: ...` with its where and what to do on lines of their own; continuation lines are indented alike. */
export function formatError(problem: Problem, colours: Colours): string {
  return format('error', problem, colours.red, colours);
}

export function formatWarning(problem: Problem, colours: Colours): string {
  return format('warning', problem, colours.yellow, colours);
}

function format(
  kind: string,
  { what, where, todo }: Problem,
  colour: (text: string) => string,
  colours: Colours,
): string {
  const indented = (text: string, width: number): string => text.trimEnd().replaceAll('\n', `\n${' '.repeat(width)}`);
  return [
    `${colours.bold(colour(`${kind}:`))} ${indented(what, 2)}`,
    ...(where === undefined ? [] : [`  ${colours.dim('where:')} ${indented(where, 9)}`]),
    ...(todo === undefined ? [] : [`  ${colours.dim('to do:')} ${indented(todo, 9)}`]),
  ].join('\n');
}
