const Redlock = require('redlock');

async function hold(server, name, work, delays) {
  const redlock = new Redlock([server], { retryCount: Infinity, ...delays });
  const lock = await redlock.lock(name, 2000);
  try { await work(); } finally { await lock.unlock(); }
}

exports.hold = hold;
exports.name = 'mutex:polyglot';
exports.delays = (ms) => ({ retryDelay: ms, retryJitter: 0 }); // by default 200 ms, give or take 100
