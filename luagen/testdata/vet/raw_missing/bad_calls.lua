-- By way of a function, and of a loop that begins with 0.
local function load(key) return redis.call('hgetall', key) end
local ids, level = redis.call('lrange', KEYS[1], 0, 9), 0
for i = 0, #ids do level = load(ids[i]).level end
for _, entry in ipairs(redis.call('xrange', KEYS[2], '-', '+')) do redis.call('xdel', KEYS[2], entry[0]) end
return level
