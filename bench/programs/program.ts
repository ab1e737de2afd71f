/** Answers the calls of the process that forked this one, one after the other as they come, until it disconnects. */
export function serve(operations: Record<string, (input: never) => unknown>): void {
  process.on(
    'message',
    ({ id, operation, input }: { id: number; operation: string; input: never }) => {
      Promise.resolve()
        .then(() => operations[operation]?.(input))
        .then(
          (value) => process.send?.({ id, value }),
          (error: unknown) => process.send?.({ id, error: String((error as Error).stack) }),
        );
    },
  );
  process.on('disconnect', () => process.exit(0));
}
