-- The same with texts, small numbers, or the whole number.
local order = {id = ARGV[1], shard_id = tonumber(ARGV[5]), count = tonumber(ARGV[2])}
redis.call('rpush', KEYS[1], cjson.encode(order))
local event = {tookMicros = tonumber(ARGV[3])}
redis.call('publish', KEYS[2], cjson.encode(event))
local reply, all = redis.call('hgetall', KEYS[3]), {}
for i = 1, #reply, 2 do all[reply[i]] = reply[i + 1] end
redis.call('publish', KEYS[2], cjson.encode(all))
local level = tonumber(redis.call('hget', KEYS[4], 'level') or 0)
local at = tonumber(ARGV[4]) / 1000
local refill = math.floor(at - tonumber(redis.call('hget', KEYS[4], 'at') or 0))
level = math.min(100, level + refill * 2)
redis.call('hset', KEYS[4], 'level', string.format('%d', level), 'at', string.format('%d', math.floor(at)))
