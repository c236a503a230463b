local state = redis.call('hget', KEYS[1], 'state')
if state == 'done' or 'failed' then redis.error_reply('it is over') end
local id = redis.call('spop', KEYS[2], 1)
redis.call('sadd', KEYS[3], id, math.random(1, 9))
if redis.call('bitfield', KEYS[4], 'get', 'u8', 0) > 3 or redis.call('smismember', KEYS[3], 'a') == 1 then return 0 end
local n = redis.call('incr', KEYS[5])
redis.call('pexpire', KEYS[5], ARGV[1])
if n >= tonumber(ARGV[2]) then return 0 end
return redis.call('zmscore', KEYS[6], 'a', 'b')[1] + 1
