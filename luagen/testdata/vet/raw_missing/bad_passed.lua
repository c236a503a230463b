-- What may be missing is passed to a function, or comes from one; and a field of a hash that is there.
local function first(text)
  return string.match(text, '^%d+')
end
local function field(raw, name)
  local doc = cjson.decode(raw)
  return doc[name]
end
local function read(key, name)
  return redis.call('hget', key, name)
end
local function count(key)
  local text = redis.call('get', key)
  return tonumber(text)
end
local function larger(n, than)
  if n > than then return 1 end
  return 0
end
local a = first(redis.call('get', KEYS[1]))
local b = field(redis.call('hget', KEYS[2], 'json'), ARGV[1])
local c = 'name:' .. read(KEYS[2], 'name')
local d = count(KEYS[3]) - 1
local e = larger(count(KEYS[4]), 5)
if redis.call('exists', KEYS[5]) == 0 then
  redis.call('hset', KEYS[5], 'name', ARGV[1], 'at', ARGV[2])
end
local f = tonumber(redis.call('hget', KEYS[5], 'tries')) + 1
if redis.call('ttl', KEYS[6]) == -2 then return 0 end
local g = redis.call('hincrby', KEYS[7], 'n', redis.call('hget', KEYS[6], ARGV[1]) * 2)
local left = tonumber(redis.call('pttl', KEYS[8]))
if left > 0 then redis.call('pexpire', KEYS[8], left + 1000) end
local h = redis.call('get', KEYS[8]) + 1
return {a or 0, b or 0, c, d, e, f, g, h}
