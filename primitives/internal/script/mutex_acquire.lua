--- Grants the mutex to owner if it is free and has no earlier waiter. Otherwise it returns the rest of the holder's
--- hold, and puts owner into the queue, where owner keeps its number. If the mutex is free and has earlier waiters,
--- it grants the mutex to the first of them. An owner that has the mutex keeps it for a whole lease. Nothing is
--- written if the user lacks a permission that this, or with asks the release, needs.
---
---@key holder string       owner
---@key token string        the last token granted, decimal
---@key queue zset          waiter -> its number
---@key signs hash          waiter -> its last heartbeat
---@arg owner string
---@arg lease milliseconds
---@arg tokenttl milliseconds?
---@arg number int(0..9007199254740991)?  the place in the queue; 0: at the end; nil: do not queue
---@arg stamp int(0..9007199254740991)    the number of this sending, if owner has a place
---@command publish publish|spublish
---@channel granted prefix  followed by the group of the owner that gets the mutex
---@arg asks bool         also check the permissions of the release
---@return string answer    the token; if refused, the rest of the hold in milliseconds, a space, and owner's number in the queue: -1 if the holder's key has no expiry, -2 if the mutex has no holder yet; 0 if owner has no number
---@include mutex.lua
local held = redis.call('get', holder)
if not held and not asks and redis.call('exists', queue) == 0 then -- The usual case.
  may('set', holder)
  may(publish, granted .. ':' .. string.match(owner, '^(.*):'))
  local grant = token_at(redis.call('time'), token, tokenttl)
  redis.call('set', holder, owner, 'px', lease)
  return grant
end
local time = redis.call('time')
if held == owner then
  ask_token(token)
  raise(holder, tonumber(lease))
  return present_token(token, tokenttl)
end
local now = millis(time)
if not held then
  local first, dead, more = survey(queue, signs, now)
  local function may_tell(group)
    may(publish, granted .. ':' .. group)
  end
  may_tell(string.match(owner, '^(.*):'))
  ask(holder, queue, signs, first, may_tell)
  ask_token(token)
  may('zrem', queue)
  may('hmget', signs)
  may('exists', queue)
  local before = first and first.owner ~= owner and not (number and number + 0 > 0 and number + 0 < first.number)
  if before or more then
    may('pttl', holder)
    if number then
      ask_place(queue, signs)
    end
  end
  if before then
    local function tell(group, message)
      redis.call(publish, granted .. ':' .. group, message)
    end
    pass_to(first, dead, holder, token, queue, signs, tokenttl, time, tell)
  else
    drop(queue, signs, dead)
    if not more then
      if first and first.owner == owner then
        drop(queue, signs, {owner})
      end
      local grant = token_at(time, token, tokenttl)
      redis.call('set', holder, owner, 'px', lease)
      return grant
    end
  end
end
local wait = string.format('%.0f ', redis.call('pttl', holder))
if not number then
  return wait .. '0'
end
local place = number + 0
if place == 0 then
  local last = redis.call('zrange', queue, -1, -1, 'withscores')
  place = math.max(time[1] * 1000000 + time[2], tonumber(last[2] or 0) + 1)
end
may('zrem', queue)
may('hdel', signs)
if stamp ~= '0' then
  ask_place(queue, signs)
end
local made = redis.call('pexpire', queue, queue_life()) == 0
if stamp ~= '0' then
  show(signs, {owner}, string.format('%.0f', now) .. ' ' .. stamp)
end
local text = string.format('%.0f', place)
redis.call('zadd', queue, text, owner)
if made then
  redis.call('pexpire', queue, queue_life())
end
return wait .. text
