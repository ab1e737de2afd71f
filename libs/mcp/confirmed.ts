import { Refusal } from '#kernel/refusal.js';
import type { Question } from './tool-request.js';
import type { Tool } from './tool.js';

/**
 * The same tool, which has the user of the client confirm each call before anything happens. Wrong arguments are refused
 * before anybody is asked. A confirmation counts for these arguments only: the request state is bound to them.
 */
export function confirmed(tool: Tool): Tool {
  return {
    ...tool,
    interactive: true,
    async run(args, caller, buses, request) {
      const reply = await request.elicit(confirmationOf(tool, tool.input.parse(args)));
      if (reply.action === 'accept' && reply.content['confirmed'] === true)
        return tool.run(args, caller, buses, request);
      throw new Refusal(
        'forbidden',
        'not_confirmed',
        'the user did not confirm; nothing was done',
        {
          fix: 'ask the user what to do instead',
        },
      );
    },
  };
}

function confirmationOf({ name, title }: Tool, input: object): Question {
  const { action } = input as { action?: unknown };
  // One of the tool's own words; nothing else of the arguments is shown as the server's.
  const what = typeof action === 'string' ? `${title}: ${action}` : title;
  return {
    key: `confirm:${name}`,
    message: `${what}. Shall this be done?`,
    fields: { confirmed: { kind: 'yes_no', title: 'Do it' } },
    otherwise: 'decide through REST or the command line, which ask nobody',
  };
}
