import {
  ProtocolError,
  type ListResourcesResult,
  type ReadResourceResult,
  type Server,
} from '@modelcontextprotocol/server';
import { INVALID_PARAMS } from './message.js';

/** A text that clients may read: about the product, the same for everyone, written by us. */
export interface GuideText {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
  readonly text: string;
}

/** Answers `resources/list` and `resources/read`. */
export class Resources {
  readonly #list: ListResourcesResult['resources'];
  readonly #texts: ReadonlyMap<string, GuideText>;

  /** Throws where two texts have one address. */
  constructor(texts: readonly GuideText[]) {
    const sorted = [...texts].sort((a, b) => (a.uri < b.uri ? -1 : 1));
    this.#texts = new Map(sorted.map((text) => [text.uri, text]));
    if (this.#texts.size < texts.length) throw new Error('two resources have one address');
    this.#list = sorted.map(({ text, ...about }) => ({ ...about, size: Buffer.byteLength(text) }));
  }

  // eslint-disable-next-line @typescript-eslint/no-deprecated -- as in sdk.ts
  serve(server: Server): void {
    server.setRequestHandler('resources/list', () => ({ resources: this.#list }));
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
    server.setRequestHandler('resources/read', ({ params: { uri } }): ReadResourceResult => {
      const found = this.#texts.get(uri);
      if (!found) throw new ProtocolError(INVALID_PARAMS, 'Resource not found', { uri });
      return { contents: [{ uri, mimeType: found.mimeType, text: found.text }] };
    });
  }
}
