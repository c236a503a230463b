-- Numbers of which JSON, or %d, leaves out digits.
local order = {id = tonumber(ARGV[1]), count = tonumber(ARGV[2])}
redis.call('rpush', KEYS[1], cjson.encode(order))
local event = {}
event.createdAtMicros = tonumber(ARGV[3])
redis.call('publish', KEYS[2], cjson.encode(event))
local reply, all = redis.call('hgetall', KEYS[3]), {}
for i = 1, #reply, 2 do all[reply[i]] = tonumber(reply[i + 1]) or reply[i + 1] end
redis.call('publish', KEYS[2], cjson.encode(all))
local level = tonumber(redis.call('hget', KEYS[4], 'level') or 0)
local refill = (tonumber(ARGV[4]) - tonumber(redis.call('hget', KEYS[4], 'at') or 0)) / 1000
level = math.min(100, level + refill * ARGV[5])
redis.call('hset', KEYS[4], 'level', string.format('%d', level), 'at', ARGV[4])
