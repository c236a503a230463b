if redis.call('get', KEYS[1]) then return redis.error_reply('TAKEN by another') end
if redis.call('get', KEYS[2]) then return {err = 'CLOSED for today'} end
if #ARGV < 1 then return redis.error_reply('ERR one argument') end
redis.call('set', KEYS[1], ARGV[1])
