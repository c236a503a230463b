const { Mutex } = require('redis-semaphore');

async function hold(server, name, work, delays, onLockLost) {
  const options = { lockTimeout: 2000, acquireTimeout: 60000, onLockLost, ...delays };
  const mutex = new Mutex(server, name, options);
  await mutex.acquire();
  try { await work(); } finally { await mutex.release(); }
}

exports.hold = hold;
exports.name = 'polyglot';
exports.delays = (ms) => ({ retryInterval: ms }); // by default 10 ms
