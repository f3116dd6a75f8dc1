// Does with an MCP client what the lines of standard input order, a JSON object each, and answers with a line each. Orders
// overlap, as an agent's calls do:
//
//   {"id": 1, "op": "tools"}
//   {"id": 2, "op": "call", "tool": "wait_job", "args": {…}, "timeout_ms": 60000}
//   {"id": 2, "op": "cancel"}
//
// The first line says which revision of MCP is spoken. When its input ends, so does the client.
import { createInterface } from 'node:readline';

/** @param client has tools() and call(tool, args, {signal, timeout}), which reject when the call fails, and close() */
export async function serve(client, revision) {
  const say = (answer) => process.stdout.write(JSON.stringify(answer) + '\n');
  const calls = new Map();

  const perform = async (order, signal) => {
    switch (order.op) {
      case 'tools':
        return (await client.tools()).tools.map((tool) => tool.name);
      case 'call':
        return client.call(order.tool, order.args, { signal, timeout: order.timeout_ms });
      default:
        throw new Error(`no such order: ${order.op}`);
    }
  };

  say({ revision });
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    if (order.op === 'cancel') {
      calls.get(order.id)?.abort('the user does not want it any more');
      continue;
    }
    const controller = new AbortController();
    calls.set(order.id, controller);
    perform(order, controller.signal)
      .then(
        (result) => say({ id: order.id, result }),
        (error) => say({ id: order.id, error: `${error?.name}: ${error?.message ?? error}` }),
      )
      .finally(() => calls.delete(order.id));
  }
  await client.close();
}

/** The hub's address and the header that lets this client in. */
export const url = new URL(process.argv[2]);
export const headers = { Authorization: `Bearer ${process.env.RUNNERHUB_KEY}` };
