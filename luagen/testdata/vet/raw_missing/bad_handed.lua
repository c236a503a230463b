-- What may be nil, passed to a function that fails for it.
local function first(text) return text:match('%d+') or 0 end
local function named(id)
  local field = 'name:' .. id
  return redis.call('hget', KEYS[2], field)
end
local function safe(text) return text and text:match('%d+') or 0 end
local last = redis.call('lindex', KEYS[3], -1)
return {first(redis.call('hget', KEYS[1], 'a')), named(last), safe(redis.call('hget', KEYS[1], 'b'))}
