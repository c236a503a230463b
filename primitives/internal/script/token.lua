--- Makes fencing tokens.
---
---@library
---@include rights.lua

-- ask_token raises an error if the user lacks the permission for token_at.
local function ask_token(token)
  local allows = redis.acl_check_cmd
  if not allows then
    modern()
  elseif not allows('set', token, '0', 'get') then
    error({err = 'NOPERM the user may not set ' .. token})
  end
end

-- above stores the token after last, which is not below now, and returns it. If last is no token, above stores last
-- again, and raises an error.
local function above(token, last, now, tokenttl)
  -- Decimal texts of digits only, not numbers: a token may pass 2^53.
  if not string.find(last, '^[1-9]%d*$') or #last > 19 or #last == 19 and last >= '9223372036854775807' then
    redis.call('set', token, last)
    error({err = 'NOTANUMBER the key holds no token'})
  end
  local head, digit, nines = string.match(last, '^(%d*)([0-8])(9*)$')
  local grant = head and head .. digit + 1 .. string.rep('0', #nines) or '1' .. string.rep('0', #last)
  if tokenttl then
    -- The clock is behind.
    redis.call('set', token, grant, 'px', tokenttl + math.ceil((grant - now) / 1000))
  else
    redis.call('set', token, grant)
  end
  return grant
end

-- token_at stores the token of a new grant, and returns it: the server's time in microseconds, or one more than the
-- last token if the clock has not passed that. With a tokenttl, the key expires when the clock has passed the last
-- token by tokenttl: a later token is higher, unless the clock was set back by more. All but its first command repeats
-- a command that the server has accepted: nothing can refuse it.
local function token_at(time, token, tokenttl)
  local micros = time[2]
  if #micros < 6 then
    micros = string.format('%06d', micros)
  end
  local now = time[1] .. micros
  local last
  if tokenttl then
    last = redis.call('set', token, now, 'px', tokenttl, 'get')
  else
    last = redis.call('set', token, now, 'get')
  end
  if last and (#last > #now or #last == #now and last >= now) then ---@allow compare same length
    return above(token, last, now, tokenttl)
  end
  return now
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
