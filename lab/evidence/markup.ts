/**
 * HTML and SVG that cannot forget to escape: the `markup` tag escapes every value except what came out of itself.
 */

export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
}

export type MarkupValue = Markup | string | number | null | undefined | false | readonly MarkupValue[];

/** Template tag. Lists are joined; null, undefined and false leave nothing. */
export function markup(strings: TemplateStringsArray, ...values: readonly MarkupValue[]): Markup {
  return new Markup(strings.reduce((text, part, index) => text + render(values[index - 1]) + part));
}

/** Text for element content and for attribute values in either kind of quotes; characters XML has no place for become U+FFFD. */
export function escapeMarkup(text: string): string {
  return withoutControlCharacters(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** XML 1.0 refuses a whole document for one NUL or escape character of a coloured log line. */
export function withoutControlCharacters(text: string): string {
  return text.replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
}

function render(value: MarkupValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map(render).join('');
  return escapeMarkup(String(value));
}
