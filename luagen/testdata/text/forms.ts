import Redis from 'ioredis';
// A comment may have `redis.call('exists', KEYS[1])`, or an apostrophe: it's no text.
/* redis.call("exists", KEYS[1]) isn't one, either. */
const quoted = /["'`]/; const ratio = 4 / 2; const half = ratio / 2; // 'one'

const template = `if redis.call('exists', KEYS[1]) then return 'template string' end return 0`;
const double = "if redis.call('exists', KEYS[1]) then return \"double quotes\" end return 0";
const single = 'if redis.call(\'exists\', KEYS[1]) then return "single\x20quotes" end return 0';
const sum = "if redis.call('exists', KEYS[1]) then " +
  'return "sum" end ' + `return 0`;

client.defineCommand('take', {
  numberOfKeys: 1,
  lua: `
    local n = redis.call('incr', KEYS[1])
    if redis.call('exists', KEYS[1]) then -- ${note} is in a comment
      return 'prefix:${name}:\${kept}'
    end
    return n
  `,
});
const nested = `${list.map((x) => `<${x}>`).join('}')}`;

const made = `if redis.call('exists', ${key}) then return 1 end return 0`; // named
const command = `if redis.call('exists', KEYS[1]) > 0 then return redis.call('${command}', KEYS[1]) end`; // named
const given = "if redis.call('exists', KEYS[1]) then return 1 end " + rest; // named
const replaced = `if redis.call('exists', '$KEY') then return 1 end return 0`.replace('$KEY', key); // named
const accepted = `if redis.call('exists', ${key}) then return 1 end return 0`; //luagen:unseen the tests have it
const inside = `-- luagen:unseen the tests have it
  if redis.call('exists', ${key}) then return 1 end return 0 -- no script that is seen`;

const library = `#!lua name=mylib
redis.register_function('f', function(keys) return redis.call('exists', keys[1]) end)`; // named one line above
// Prose and code are none.
log('redis.call() failed: it is called as redis.call("get", key)', error);
await redis.call('JSON.GET', key);
const broken = 'it has no end
const last = `if redis.call('exists', KEYS[1]) then return 'behind it' end return 0`;
