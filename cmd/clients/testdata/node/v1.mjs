// The official SDK's first generation: node v1.mjs URL
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { headers, serve, url } from './agent.mjs';

const client = new Client({ name: 'test', version: '1' });
const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
await client.connect(transport);
await serve(
  {
    tools: () => client.listTools(),
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    close: () => client.close(),
  },
  transport.protocolVersion,
);
