local function limit()
  local n = redis.call('get', KEYS[1])
  redis.log(redis.LOG_NOTICE, tostring(n))
end
local function fields()
  redis.call('hmget', KEYS[2], 'state', 'level')
end
local function state(of)
  if of == '1' then
    return redis.call('get', KEYS[3])
  elseif of == '2' then
    return redis.call('get', KEYS[4])
  end
  redis.call('set', KEYS[3], 'new')
end
local found = fields()
if limit() > 5 or state(ARGV[1]) == 'open' then
  return 0
end
return found[1]
