import { Worker } from 'node:worker_threads';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { BlobStore } from '#event-store/event-store.js';
import { Sealing } from '#event-store/sealing.js';
import { threadOf } from '#kernel/thread.js';
import { BLOBS, READ_FILE } from '#projections/tokens.js';
import type { Found, SearchQuestion, SearchReply, SearchRequest } from './search-engine.js';

/**
 * Search over names, statements and captured texts (QO-25). The index lives in a thread of its own that the first question starts:
 * building it and scoring never hold the event loop. Nothing of it is stored; it may end at any time.
 */
@Injectable()
export class Search implements OnModuleDestroy {
  private thread: Worker | undefined;
  private readonly waiting = new Map<
    number,
    { asked: SearchQuestion; reply: PromiseWithResolvers<Found> }
  >();
  private last = 0;

  constructor(
    @Inject(READ_FILE) private readonly path: string,
    @Inject(BLOBS) private readonly blobs: BlobStore,
    sealing: Sealing,
  ) {
    // Of the words of one erased text no index can be rid by itself: the next question builds another one.
    sealing.onDestroyed(() => {
      this.restart();
    });
  }

  /** What is nearest to a question, as far as the read models stand when it is asked. */
  near(asked: SearchQuestion): Promise<Found> {
    const id = ++this.last;
    const reply = Promise.withResolvers<Found>();
    this.waiting.set(id, { asked, reply });
    this.send({ kind: 'near', id, ...asked });
    return reply.promise;
  }

  /** Ends the thread with all that it holds; who waits asks the next one. */
  private restart(): void {
    const { thread } = this;
    if (!thread) return;
    this.thread = undefined;
    void thread.terminate();
    for (const [id, { asked }] of this.waiting) this.send({ kind: 'near', id, ...asked });
  }

  async onModuleDestroy(): Promise<void> {
    const { thread } = this;
    if (!thread) return;
    this.thread = undefined;
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    thread.postMessage({ kind: 'close' } satisfies SearchRequest);
    await ended;
  }

  private send(request: SearchRequest): void {
    this.thread ??= this.start();
    this.thread.postMessage(request);
  }

  private start(): Worker {
    const { url, execArgv } = threadOf(import.meta.url, './search-thread');
    const thread = new Worker(url, { execArgv, workerData: { path: this.path } });
    thread.unref();
    thread.on('message', (reply: SearchReply) => {
      void this.received(thread, reply);
    });
    thread.on('error', (error: Error) => {
      this.lost(thread, error);
    });
    thread.on('exit', () => {
      this.lost(thread, new Error('the search thread ended'));
    });
    return thread;
  }

  private async received(thread: Worker, reply: SearchReply): Promise<void> {
    if (this.thread !== thread) return;
    if (reply.kind === 'texts') {
      const texts = await Promise.all(reply.hashes.map((hash) => this.blobs.getBlob(hash))).catch(
        () => undefined,
      );
      thread.postMessage({ kind: 'texts', id: reply.id, texts } satisfies SearchRequest);
      return;
    }
    const asked = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if (reply.kind === 'near') asked?.reply.resolve(reply.near);
    else asked?.reply.reject(new Error(`search: ${reply.reason}`));
  }

  /** Whoever waits is told; the next question starts another thread. */
  private lost(thread: Worker, error: Error): void {
    // One that was replaced has nobody waiting for it any more.
    if (this.thread !== thread) return;
    this.thread = undefined;
    for (const { reply } of this.waiting.values()) reply.reject(error);
    this.waiting.clear();
  }
}
