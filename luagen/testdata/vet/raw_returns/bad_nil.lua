local function limit()
  local n = redis.call('get', KEYS[1])
  redis.log(redis.LOG_NOTICE, tostring(n))
end
local function fields()
  redis.call('hmget', KEYS[2], 'state', 'level')
end
local found = fields()
if limit() > 5 then
  return 0
end
return found[1]
