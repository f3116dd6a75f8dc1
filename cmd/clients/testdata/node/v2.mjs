// The official SDK's second generation: node v2.mjs URL legacy|REVISION
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { headers, serve, url } from './agent.mjs';

const era = process.argv[3];
const client = new Client(
  { name: 'test', version: '1' },
  { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: era } } },
);
await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
await serve(
  {
    tools: () => client.listTools(),
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    close: () => client.close(),
  },
  client.getNegotiatedProtocolVersion(),
);
