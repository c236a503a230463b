local calls = redis.call('zrangebyscore', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 2)
for _, call in ipairs(calls) do redis.call('rpush', KEYS[2], call) end
for _, call in ipairs(calls) do redis.call('zrem', KEYS[1], call) end
return #calls
