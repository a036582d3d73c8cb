/** `lab get KIND`: what the lab's API holds, in the columns kubectl shows. */
import { listByWord, tableByWord } from '../cluster/by-word.ts';
import type { Lab } from '../lab.ts';
import { formatTable } from '../terminal/table.ts';
import { openTerminal } from '../terminal/terminal.ts';

export async function getCommand(lab: Lab, kind: string, json: boolean): Promise<number> {
  if (json) process.stdout.write(`${JSON.stringify(await listByWord(lab.cluster, kind), null, 2)}\n`);
  else {
    const { columnDefinitions, rows } = await tableByWord(lab.cluster, kind);
    const terminal = openTerminal();
    const titles = [
      { title: 'NAMESPACE' },
      ...columnDefinitions.map((column) => ({ title: column.name.toUpperCase() })),
    ];
    const cells = rows.map((row) => [
      row.object.metadata.namespace ?? '',
      ...row.cells.map((cell) => (cell === null ? '' : String(cell))),
    ]);
    terminal.line(rows.length === 0 ? `no ${kind}` : formatTable(terminal, titles, cells));
  }
  lab.disconnect();
  return 0;
}
