/** A line without its end. `[start, end)` are UTF-16 offsets in the text. */
interface Line {
  start: number;
  end: number;
  text: string;
}

/** Words that are marked as a decision. `[start, end)` is their paragraph or item as it stands in the text. */
export interface Marked {
  how: 'label' | 'item' | 'paragraph';
  start: number;
  end: number;
  /** From where on it says what was decided: behind the label or the item's mark. */
  said: number;
  /** What a `Topic:` line of the same paragraph names. */
  topic?: string;
}

const FENCE = /^ {0,3}(?:`{3,}|~{3,})/;
const QUOTED = /^\s{0,3}>/;
const HEADING = /^ {0,3}(#{1,6})\s+(\S.*?)\s*#*\s*$/;
const BOLD_LINE = /^\s*(?:\*\*|__)([^*_]+?)(?:\*\*|__)\s*:?\s*$/;
const PLAIN_TITLE = /^\s*([\p{L}][^:.!?]{0,60}?)\s*:\s*$/u;
const UNDERLINE = /^ {0,3}(?:=+|-{2,})\s*$/;
const ITEM = /^(\s*)(?:[-*+•–]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(\S.*)$/i;
const OPEN_BOX = /^\[ \]/;

const DECISIONS =
  /^(?:\d+(?:\.\d+)*[.)]?\s*)?(?:the |our |key |main |final )?(?:decisions?(?: (?:made|taken|reached|outcome))?|decided|resolutions?|resolved|what (?:we|was) decided)\s*:?$/i;
const LABEL =
  /^\s*(?:(?:[-*+•–]|\(?\d{1,3}[.)])\s+)?[*_]{0,3}(?:key |final )?(?:decisions?|decided|resolutions?|resolved)(?:\s+#?\d{1,4})?[*_]{0,3}\s*[:：][*_]{0,3}\s*/i;
const TOPIC = /^\s*(?:[-*+•–]\s+)?[*_]{0,3}topic[*_]{0,3}\s*[:：][*_]{0,3}\s*(\S.*?)\s*$/i;
const NOTHING =
  /^[\s*_~]*(?:none|n\/?a|tb[da]|pending|open|postponed|deferred|not (?:yet )?(?:made|taken|decided)|to be (?:decided|determined|confirmed)|no (?:formal )?decisions?(?: (?:was|were))?(?: (?:made|taken|reached|yet))?|nothing(?: (?:was )?decided)?|[^\p{L}\p{N}]*)[\s*_~.!]*$/iu;
const STRUCK = /^\s*~~.*~~\s*$/;
/** What says that nothing was decided is shorter. */
const LONGEST_NOTHING = 600;

/**
 * The first `most` places of a text that are marked as a decision, in order. Code and quoted lines say nothing. One pass, linear in
 * the text.
 */
export function markedIn(text: string, most: number): Marked[] {
  return new Scan(text, most).run();
}

interface Section {
  items: Marked[];
  paragraphs: Marked[];
  /** Of the first item. */
  indent: number | undefined;
}

class Scan {
  private readonly found: Marked[] = [];
  private readonly lines: readonly Line[];
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly most: number,
  ) {
    this.lines = linesOf(text);
  }

  run(): Marked[] {
    while (this.at < this.lines.length && this.found.length < this.most) {
      const line = this.lines[this.at];
      if (!line || this.skipped(line)) continue;
      const title = this.titleAt(this.at);
      if (title && DECISIONS.test(title.name)) {
        this.at = title.next;
        this.section(/s\s*:?$|decided|resolved/i.test(title.name));
      } else if (labels(line.text)) this.labelled();
      else this.at += 1;
    }
    // Items of a section are taken at its end, labels inside of it at once.
    return this.found.sort((a, b) => a.start - b.start).slice(0, this.most);
  }

  private take(...marked: readonly Marked[]): void {
    for (const each of marked) {
      const said = this.text.slice(each.said, Math.min(each.end, each.said + LONGEST_NOTHING));
      if (!NOTHING.test(said) && !STRUCK.test(said)) this.found.push(each);
    }
  }

  /** Steps over a fenced block, a quoted line. */
  private skipped(line: Line): boolean {
    if (QUOTED.test(line.text)) {
      this.at += 1;
      return true;
    }
    const fence = FENCE.exec(line.text)?.[0].trim();
    if (fence === undefined) return false;
    this.at += 1;
    while (this.at < this.lines.length)
      if (this.lines[this.at++]?.text.trimStart().startsWith(fence)) break;
    return true;
  }

  /** A heading, a bold line or a line `Title:` by itself; `next` is the line after it. A line `Title:` may also introduce a list. */
  private titleAt(at: number): { name: string; next: number; ends: boolean } | undefined {
    const text = this.lines[at]?.text ?? '';
    const hash = HEADING.exec(text)?.[2];
    if (hash !== undefined)
      return { name: hash.replace(/^[*_]+|[*_]+$/g, ''), next: at + 1, ends: true };
    if (this.isUnderlined(at)) return { name: text.trim(), next: at + 2, ends: true };
    const bold = BOLD_LINE.exec(text)?.[1];
    const name = bold ?? introduces(text);
    if (name === undefined) return undefined;
    return { name: name.trim(), next: at + 1, ends: bold !== undefined };
  }

  private isUnderlined(at: number): boolean {
    const [line, under] = [this.lines[at]?.text ?? '', this.lines[at + 1]?.text ?? ''];
    return UNDERLINE.test(under) && line.trim() !== '' && !ITEM.test(line);
  }

  /** What stands under a title of decisions: its items, else its first paragraph, or all of them where the title is a plural. */
  private section(many: boolean): void {
    const section: Section = { items: [], paragraphs: [], indent: undefined };
    while (this.at < this.lines.length) {
      const line = this.lines[this.at];
      if (!line || this.endsSection(section)) break;
      if (line.text.trim() === '') this.at += 1;
      else if (labels(line.text)) this.labelled();
      else if (!this.skipped(line)) this.member(line, section);
    }
    const { items, paragraphs } = section;
    this.take(...(items.length > 0 ? items : paragraphs.slice(0, many ? undefined : 1)));
  }

  private endsSection({ items, paragraphs }: Section): boolean {
    const title = this.titleAt(this.at);
    return title !== undefined && (title.ends || items.length + paragraphs.length > 0);
  }

  private member(line: Line, section: Section): void {
    const [, lead = '', said] = ITEM.exec(line.text) ?? [];
    if (said === undefined) {
      section.paragraphs.push({ ...this.paragraph(line, 0), how: 'paragraph' });
      return;
    }
    section.indent ??= lead.length;
    const taken = this.paragraph(line, line.text.length - said.length);
    // What is nested explains its item.
    if (lead.length <= section.indent + 1 && !OPEN_BOX.test(said))
      section.items.push({ ...taken, how: 'item' });
  }

  /** `Decision: …` to the end of its paragraph or the next label; `Decision:` alone takes the paragraph that follows. */
  private labelled(): void {
    const line = this.lines[this.at];
    if (!line) return;
    const topic = TOPIC.exec(this.lines[this.at - 1]?.text ?? '')?.[1];
    const label = LABEL.exec(line.text)?.[0].length ?? 0;
    const marked: Marked = { ...this.paragraph(line, label), how: 'label' };
    const named = topic ?? TOPIC.exec(this.lines[this.at]?.text ?? '')?.[1];
    this.take(named === undefined ? marked : { ...marked, topic: named });
  }

  /** From a line on until a blank line or the beginning of something else. */
  private paragraph(first: Line, said: number): { start: number; end: number; said: number } {
    let last = first;
    for (this.at += 1; this.at < this.lines.length; this.at++) {
      const line = this.lines[this.at];
      if (!line || line.text.trim() === '' || this.begins(line)) break;
      last = line;
    }
    const lead = first.text.length - first.text.trimStart().length;
    const end = last.start + last.text.trimEnd().length;
    return { start: first.start + lead, end, said: Math.min(first.start + said, end) };
  }

  private begins({ text }: Line): boolean {
    const something = [ITEM, LABEL, TOPIC, HEADING, FENCE, QUOTED, BOLD_LINE];
    return something.some((form) => form.test(text)) || introduces(text) !== undefined;
  }
}

function introduces(line: string): string | undefined {
  return line.trimEnd().endsWith(':') ? PLAIN_TITLE.exec(line)?.[1] : undefined;
}

/** Most lines have no colon. */
function labels(line: string): boolean {
  return (line.includes(':') || line.includes('：')) && LABEL.test(line);
}

function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  const ends = /\r\n|\r|\n/g;
  let start = 0;
  for (const { index, 0: end } of text.matchAll(ends)) {
    lines.push({ start, end: index, text: text.slice(start, index) });
    start = index + end.length;
  }
  lines.push({ start, end: text.length, text: text.slice(start) });
  return lines;
}
