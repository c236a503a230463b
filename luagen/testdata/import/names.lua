-- A name of two values stays as it is.
local function first()
  local key = KEYS[1]
  return redis.call('get', key)
end
local key = KEYS[2]
return first() == redis.call('get', key)
