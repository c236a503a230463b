--- Reads a latch that counts each part once.
---
---@library
---@include decimal.lua

-- missing returns how many parts of a latch are not counted yet: '0' once it is open, and nil if the latch is not
-- there. It returns an error if the count is not a whole number.
local function missing(latch, parts)
  local count = redis.call('get', latch)
  if count and not integer(count) then
    return redis.error_reply('NOTANUMBER the key holds no whole number')
  end
  local state = redis.call('hget', parts, '')
  if state == '0' then
    return state
  end
  return state and count and less('0', count) and count or nil
end
