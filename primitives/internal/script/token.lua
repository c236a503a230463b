--- Fencing tokens.
---
---@library

-- fence writes the next token, and returns it: the server's time in microseconds, or one more than the
-- last token where the clock has not passed that. If there is a ttl, the token key expires when the
-- clock has passed the last token by that.
local function fence(token, ttl)
  local time = redis.call('time')
  local now = time[1] .. string.format('%06d', time[2])
  local grant = now
  local last = redis.call('get', token)
  -- Decimal texts of digits only, not numbers: a token may pass 2^53.
  if last and (#last > #now or #last == #now and last >= now) then ---@allow compare same length
    redis.call('incr', token)
    grant = redis.call('get', token)
    if ttl then
      ttl = ttl + math.ceil((grant - now) / 1000) -- The clock is so far behind.
    end
  end
  if ttl then
    redis.call('set', token, grant, 'px', ttl)
  else
    redis.call('set', token, grant)
  end
  return grant
end
