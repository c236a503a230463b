local state = redis.call('hget', KEYS[1], 'state') or 'new'
if state == 'done' or state == 'failed' then return redis.error_reply('it is over') end
math.randomseed(tonumber(ARGV[1]))
local id = redis.call('spop', KEYS[2])
if id then redis.call('sadd', KEYS[3], id, math.random(1, 9)) end
if redis.call('bitfield', KEYS[4], 'get', 'u8', 0)[1] > 3 then return 0 end
local failures = redis.call('incr', KEYS[5])
if failures == 1 then redis.call('pexpire', KEYS[5], ARGV[2]) end
if failures >= tonumber(ARGV[3]) then return 0 end
return redis.call('smismember', KEYS[3], 'a')[1]
