--- Reads the hash of a rate limiter.
---
---@library

-- fields_of returns the rate, the interval, the type and the keepAliveTime of a limiter's hash, or nil if there is
-- no hash. If the hash lacks one of the first three, which every limiter has, it is another program's: then fields_of
-- returns nil and an error.
local function fields_of(limiter)
  local fields = redis.call('hmget', limiter, 'rate', 'interval', 'type', 'keepAliveTime')
  if fields[1] and fields[2] and fields[3] then
    return fields, nil
  elseif redis.call('hlen', limiter) == 0 then
    return nil, nil
  end
  return nil, redis.error_reply('OTHERKIND the key holds a hash that is no rate limiter')
end
