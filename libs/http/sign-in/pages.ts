import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { escapeUnseen } from '#kernel/text.js';

const STYLE =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:26rem;margin:10vh auto;padding:0 1rem;color:#1b1b1b;background:#fff}' +
  'h1{font-size:1.4rem}label{display:block;margin:1rem 0 .25rem}' +
  'input,select{font:inherit;width:100%;box-sizing:border-box;padding:.5rem;border:1px solid #555;border-radius:.25rem}' +
  'button{font:inherit;margin:1.25rem .5rem 0 0;padding:.5rem 1.25rem;border:1px solid #1b4d89;border-radius:.25rem;background:#1b4d89;color:#fff}' +
  'button.other{background:#fff;color:#1b4d89}.error{border-left:.25rem solid #b00020;padding-left:.75rem}' +
  'dd{margin:0 0 .5rem;overflow-wrap:anywhere}dt{font-weight:600}' +
  '@media (prefers-color-scheme:dark){body{background:#161616;color:#eee}button.other{background:#161616;color:#9cc3f5}input,select{background:#222;color:#eee}}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** HTML that is safe to send. Made by `html` alone. */
export interface Html {
  readonly html: string;
}

/** Values are escaped, whatever they are; only pieces of `Html` go in as they are. */
export function html(
  parts: TemplateStringsArray,
  ...values: (string | Html | readonly Html[])[]
): Html {
  const filled = parts.map((part, i) => part + (i < values.length ? safe(values[i] ?? '') : ''));
  return { html: filled.join('') };
}

function safe(value: string | Html | readonly Html[]): string {
  if (typeof value === 'string') return escaped(value);
  return 'html' in value ? value.html : value.map((v) => v.html).join('');
}

function escaped(text: string): string {
  const shown = text.length > 300 ? `${text.slice(0, 300)}…` : text;
  return escapeUnseen(shown).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** What the provider says of a request it cannot take. Its words may hold the request's own: they are escaped. */
export function errorPage(
  error: string,
  description = '',
): { status: number; body: { html: string; headers: Record<string, string> } } {
  const body = html`${errorLine(description === '' ? error : `${error}: ${description}`)}
    <p>Go back to the program that sent you here and begin again.</p>`;
  const page = pageOf('This cannot be done', body);
  return { status: 400, body: { html: page.html, headers: headersOf([]) } };
}

/** Without scripts; `formsTo` names where a form may lead in the end: a client's address. */
export function sendPage(
  response: ServerResponse,
  status: number,
  title: string,
  body: Html,
  formsTo: readonly string[] = [],
): void {
  const page = pageOf(title, body);
  response.writeHead(status, {
    ...headersOf(formsTo),
    'content-length': Buffer.byteLength(page.html),
  });
  response.end(page.html);
}

function pageOf(title: string, body: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} – Precedent</title>
        <style>
          ${{ html: STYLE }}
        </style>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `;
}

function headersOf(formsTo: readonly string[]): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': [
      "default-src 'none'",
      `style-src 'sha256-${STYLE_HASH}'`,
      ["form-action 'self'", ...formsTo].join(' '),
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join(';'),
    // With the origin of a form, so that it can be told from one on another page.
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
  };
}

export function errorLine(message: string | undefined): Html {
  return message === undefined ? html`` : html`<p class="error" role="alert">${message}</p>`;
}

export function loginForm(action: string, error?: string, login = ''): Html {
  return html`${errorLine(error)}
    <form method="post" action="${action}">
      <label for="login">Name or mail address</label>
      <input
        id="login"
        name="login"
        value="${login}"
        autocomplete="username"
        autocapitalize="none"
        spellcheck="false"
        required
        autofocus
      />
      <label for="password">Password</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required
      />
      <button type="submit">Sign in</button>
    </form>
    <p>No account, or the password is lost? An admin of your workspace sends you a link.</p>`;
}

export interface Consent {
  /** What the client calls itself: untrusted. */
  client: string;
  /** Host that vouches for the client, or its id. */
  identity: string;
  /** Where the browser goes afterwards. */
  redirect: string;
  login: string;
  workspaces: readonly { id: string; name: string }[];
  /** The one to preselect. */
  workspace?: string;
}

export function consentForm(action: string, consent: Consent): Html {
  const { workspaces } = consent;
  const choice = workspaces.map(
    ({ id, name }) =>
      html`<option value="${id}" ${id === consent.workspace ? html` selected` : ''}>
        ${name} (${id})
      </option>`,
  );
  return html`<p>
      A program asks to act for you in Precedent, with everything that your role allows.
    </p>
    <dl>
      <dt>It calls itself</dt>
      <dd>${consent.client}</dd>
      <dt>It is known as</dt>
      <dd>${consent.identity}</dd>
      <dt>It gets its answer at</dt>
      <dd>${consent.redirect}</dd>
      <dt>You are</dt>
      <dd>${consent.login}</dd>
    </dl>
    <form method="post" action="${action}">
      ${
        workspaces.length > 1
          ? html`<label for="workspace">Workspace</label
              ><select id="workspace" name="workspace">
                ${choice}
              </select>`
          : ''
      }
      <button type="submit" name="decision" value="allow">Allow</button>
      <button type="submit" name="decision" value="refuse" class="other">Refuse</button>
    </form>`;
}

export function passwordForm(action: string, login: string, error?: string): Html {
  return html`${errorLine(error)}
    <p>Account: ${login}</p>
    <form method="post" action="${action}">
      <input type="hidden" name="login" value="${login}" autocomplete="username" />
      <label for="password">New password, at least 12 characters</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="new-password"
        minlength="12"
        required
        autofocus
      />
      <label for="again">The same again</label>
      <input
        id="again"
        name="again"
        type="password"
        autocomplete="new-password"
        minlength="12"
        required
      />
      <button type="submit">Set the password</button>
    </form>`;
}
