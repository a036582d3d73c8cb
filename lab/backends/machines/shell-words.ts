/** Words of a command line as a shell reads them. */

/** One word, quoted where a shell would take it for something else. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
