local function fail(text) return {err = text} end
if redis.call('exists', KEYS[1]) == 0 then redis.error_reply('NOTFOUND') end
if ARGV[1] == '' then fail('EMPTY') end
return redis.call('incr', KEYS[1])
