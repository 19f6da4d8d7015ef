// Talks to `tradewind mcp` with the official client, which checks every message and every answer
// against its schema: mcp_client.mjs PROGRAM DIRECTORY. Prints what mcp.t compares.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [program, directory] = process.argv.slice(2);

async function connect(...options) {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({ command: program, args: ['mcp', ...options], env: process.env, cwd: directory }),
  );
  return client;
}

const reader = await connect();
console.log('server', reader.getServerVersion().name);
const { tools } = await reader.listTools();
console.log('read only', tools.every((t) => t.annotations.readOnlyHint));
const plan = await reader.callTool({ name: 'plan_solve', arguments: { file: 'p.yaml' } });
console.log('plan', plan.structuredContent.status, plan.structuredContent.stages.length);
// Every tool that needs no arguments answers as its output schema says, or fails in words.
for (const tool of tools.filter((t) => !t.inputSchema.required && t.name !== 'geo_paper')) {
  const result = await reader.callTool({ name: tool.name, arguments: {} });
  if (result.isError ? !result.content[0].text : !result.structuredContent) console.log('bad answer', tool.name);
}
const job = await reader.callTool({ name: 'job_log', arguments: { id: 1 } });
console.log('log', JSON.stringify(job.structuredContent.text));
await reader.close();

const writer = await connect('--allow-write');
const all = (await writer.listTools()).tools.map((t) => t.name);
console.log('more tools', all.length > tools.length && all.includes('run_start'));
const request = { command: ['echo', 'from the assistant'], time_limit_s: 3600 };
const shown = await writer.callTool({ name: 'job_submit', arguments: request });
console.log('cost', shown.structuredContent.most_usd);
const started = await writer.callTool({
  name: 'job_submit',
  arguments: { ...request, confirm: shown.structuredContent.confirm },
});
const seen = [];
const waited = await writer.callTool(
  { name: 'job_wait', arguments: { ids: [started.structuredContent.id] } },
  undefined,
  { onprogress: (p) => seen.push(p), timeout: 300000 },
);
console.log('waited', waited.isError === true ? waited.content[0].text : 'finished');
const log = await writer.callTool({ name: 'job_log', arguments: { id: started.structuredContent.id } });
console.log('log', JSON.stringify(log.structuredContent.text));
// A cancelled call ends, and the next one is answered.
const abort = new AbortController();
const sleeper = await writer.callTool({ name: 'job_submit', arguments: { command: ['sleep', '600'], time_limit_s: 900 } });
const asleep = await writer.callTool({
  name: 'job_submit',
  arguments: { command: ['sleep', '600'], time_limit_s: 900, confirm: sleeper.structuredContent.confirm },
});
const id = asleep.structuredContent.id;
const waiting = writer.callTool({ name: 'job_wait', arguments: { ids: [id] } }, undefined, { signal: abort.signal });
setTimeout(() => abort.abort('enough'), 200);
await waiting.then(() => console.log('not cancelled'), () => console.log('cancelled'));
const killed = await writer.callTool({ name: 'job_kill', arguments: { ids: [id] } });
console.log('killed', killed.structuredContent.items[0].id === id);
await writer.close();
