-- The same, to be on the safe side.
local function first(text)
  return text and string.match(text, '^%d+')
end
local function field(raw, name)
  if not raw then return nil end
  local doc = cjson.decode(raw)
  return doc[name]
end
local function read(key, name)
  return redis.call('hget', key, name) or ''
end
local function count(key)
  local text = redis.call('get', key)
  if not text then return 0 end
  return tonumber(text)
end
local function must(key)
  local text = redis.call('get', key)
  if not text then error('gone') end
  return tonumber(text)
end
local function number(text)
  assert(type(text) == 'string')
  return text + 0
end
local a = first(redis.call('get', KEYS[1]))
local b = field(redis.call('hget', KEYS[2], 'json'), ARGV[1])
local c = 'name:' .. read(KEYS[2], 'name')
local d = count(KEYS[3]) - 1 + must(KEYS[4])
local raw = redis.call('get', KEYS[8])
if raw then d = d + number(raw) end
if redis.call('exists', KEYS[5]) == 0 then
  redis.call('hset', KEYS[5], 'name', ARGV[1], 'tries', 0)
end
local f = tonumber(redis.call('hget', KEYS[5], 'tries')) + 1
local tokens = 10
if redis.call('exists', KEYS[9]) == 1 then
  tokens = tonumber(redis.call('hget', KEYS[9], 'tokens')) -- which the script sets with the rest, below
end
redis.call('hset', KEYS[9], 'tokens', tokens - 1, 'at', ARGV[2])
if redis.call('exists', KEYS[6]) == 0 then return 0 end
local state = 'state:' .. redis.call('hget', KEYS[6], 'state')
local left = tonumber(redis.call('pttl', KEYS[7]))
if left <= 0 then return 0 end
local h = redis.call('get', KEYS[7]) + 1
local function twice(key)
  return redis.call('get', key)
end
redis.call('set', KEYS[10], 1)
local i = twice(KEYS[10]) + 1
return {a or 0, b or 0, c, d, f, state, h, i}
