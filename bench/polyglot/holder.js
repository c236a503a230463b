// Holds a lock of Node's libraries as main.go holds those of Go: holder.js LIBRARY SERVER REFEREE DELAY
const net = require('net');
const readline = require('readline');
const Redis = require('ioredis');

const [library, server, referee, delay] = process.argv.slice(2);
const { hold, name, delays } = require(library === 'node-redlock' ? './redlock.js' : './semaphore.js');
const [host, port] = server.split(':');
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function turns() {
  const conn = net.connect(referee);
  const asked = []; // those that wait for a reply
  readline.createInterface({ input: conn }).on('line', (line) => asked.shift()(line === 'go'));
  conn.on('close', () => asked.forEach((answer) => answer(false)));
  const say = (text) => new Promise((answer) => { asked.push(answer); conn.write(text + '\n'); });
  const failed = (error) => say(`error ${error.name}: ${error.message.replaceAll('\n', '; ')}`);
  const work = async () => { await say('in'); await sleep(1); await say('out'); };

  const client = new Redis(Number(port), host);
  const chosen = delay === '0' ? {} : delays(Number(delay));
  conn.write(`${library} ${process.pid}\n`);
  while (await say('begin')) {
    await hold(client, name, work, chosen, failed).catch(failed);
    await sleep(5);
  }
  conn.end();
  client.disconnect();
}

turns();
turns();
