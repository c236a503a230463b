--- Makes fencing tokens.
---
---@library
---@include rights.lua

-- token_at stores the token of a new grant, and returns it: the server's time in microseconds, or one more than the
-- last token if the clock has not passed that. With a tokenttl, the key expires when the clock has passed the last
-- token by tokenttl: a later token is higher, unless the clock was set back by more.
local function token_at(time, token, tokenttl)
  local now = time[1] .. string.format('%06d', time[2])
  local grant = now
  local last, ttl = redis.call('get', token), tokenttl
  -- Decimal texts of digits only, not numbers: a token may pass 2^53.
  if last and (#last > #now or #last == #now and last >= now) then ---@allow compare same length
    may('set', token)
    redis.call('incr', token)
    grant = redis.call('get', token)
    if ttl then
      ttl = tokenttl + math.ceil((grant - now) / 1000) -- The clock is that far behind.
    end
  end
  if ttl then
    redis.call('set', token, grant, 'px', ttl)
  else
    redis.call('set', token, grant)
  end
  return grant
end

-- next_token is token_at with the server's present time.
local function next_token(token, tokenttl)
  return token_at(redis.call('time'), token, tokenttl)
end

-- present_token returns the last token, which an earlier script stored. If the key has expired, was deleted or holds
-- no token, it is next_token.
local function present_token(token, tokenttl)
  local last = redis.call('get', token)
  if last and string.find(last, '^[1-9]%d*$') then
    return last
  end
  return next_token(token, tokenttl)
end
