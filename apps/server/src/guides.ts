import { readFileSync, readdirSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import type { GuideText } from '#mcp/resources.js';

const FOLDER = 'docs/guide';
/** A heading, an empty line, one line that says what the text is good for, and the text. */
const FORM = /^# (?<title>.+)\n\n(?<description>.+)\n\n/;

/** The texts of `docs/guide` as MCP resources, `precedent://guide/<file name>`. Throws where one is not in form. */
export function guides(): GuideText[] {
  const folder = join(dirname(findPackageJSON(import.meta.url) ?? '.'), FOLDER);
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .sort()
    .map((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      const { title, description } = FORM.exec(text)?.groups ?? {};
      if (title === undefined || description === undefined)
        throw new Error(`${FOLDER}/${file} has no title or no first line`);
      const name = file.slice(0, -'.md'.length);
      const uri = `precedent://guide/${name}`;
      return { uri, name, title, description, mimeType: 'text/markdown', text };
    });
}
