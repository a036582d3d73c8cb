/** Options and arguments that are numbers. */
import { InvalidArgumentError } from 'commander';

/** @throws InvalidArgumentError, which the command line shows with the option's name */
export function wholeNumber(text: string, atLeast: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < atLeast) throw new InvalidArgumentError(`A whole number, ${atLeast} or more.`);
  return value;
}
