/** Tables without frames: aligned columns, one of which wraps when the terminal is too narrow. */
import Table from 'cli-table3';
import { displayWidth, type Terminal } from './terminal.ts';

export interface Column {
  title: string;
  align?: 'left' | 'right';
  /** Takes what width is left and wraps within it. One column at most; default the last. */
  wraps?: boolean;
}

const GAP = 2;
/** A column narrower than this is no longer readable: the line is allowed to be too long instead. */
const NARROWEST = 16;
const NO_FRAME = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) =>
    ['', '-mid', '-left', '-right'].map((part) => [`${side}${part}`, '']),
  ),
);

/**
 * The table as lines, without trailing blanks. Cells may be coloured.
 * @throws Error when a row has not as many cells as there are columns
 */
export function formatTable(
  terminal: Pick<Terminal, 'width' | 'colours'>,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string {
  for (const row of rows) {
    if (row.length !== columns.length) {
      throw new Error(`table of ${columns.length} columns: a row has ${row.length} cells: ${row.join(' | ')}`);
    }
  }
  const marked = columns.findIndex((column) => column.wraps);
  const wrapping = marked < 0 ? columns.length - 1 : marked;
  const natural = columns.map(({ title }, index) =>
    Math.max(displayWidth(title), ...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
  const others = natural.reduce((sum, width, index) => sum + (index === wrapping ? 0 : width), 0);
  const left = terminal.width - others - GAP * (columns.length - 1);
  const widths = natural.map((width, index) =>
    index === wrapping ? Math.max(Math.min(width, left), Math.min(width, NARROWEST)) : width,
  );

  const table = new Table({
    head: columns.map(({ title }) => terminal.colours.dim(title)),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    colWidths: widths,
    wordWrap: true,
    chars: { ...NO_FRAME, middle: ' '.repeat(GAP) },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of rows) table.push([...row]);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
