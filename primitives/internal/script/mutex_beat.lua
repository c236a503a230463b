--- Stores heartbeats of waiters, and returns each status. If the mutex is free, it goes to the first waiter that
--- has not expired, perhaps one of these. If one of these holds the mutex, the hold lasts for at least keep.
---
---@key holder string       owner
---@key token string        the last token granted, decimal
---@key queue zset          waiter -> its number
---@key signs hash          waiter -> its last heartbeat
---@arg keep milliseconds
---@arg tokenttl milliseconds?
---@arg stamp int(1..9007199254740991)   the number of this sending
---@command publish publish|spublish
---@channel granted prefix  followed by the group of the owner that gets the mutex
---@arg waiters string...   at most 100, in the order of their numbers
---@return milliseconds wait   the rest of the hold; -1 ms: its key has no expiry; -2 ms: there is no holder yet
---@return int rank         how many waiters are before the first of these that waits; -1: none of these waits
---@return int? grant       the token, if one of these holds the mutex; nil: none of these does
---@return int[] status     per waiter: 0 it has no place, 1 it waits, 2 it holds the mutex
---@include mutex.lua
local function may_tell(group)
  may(publish, granted .. ':' .. group)
end
may_tell(string.match(waiters[1], '^(.*):'))
ask(holder, queue, signs, nil, may_tell)
ask_place(queue, signs)
may('pttl', holder)
ask_token(token)
may('zrank', queue)
may('zrange', queue)
may('hmget', signs)
local held, grant = redis.call('get', holder), nil
local now = millis(redis.call('time'))
local places = redis.call('zmscore', queue, unpack(waiters))
local status, alive = {}, {}
for i, waiter in ipairs(waiters) do
  if places[i] then
    status[i], alive[#alive + 1] = 1, waiter
  else
    status[i] = 0
  end
end
if #alive > 0 then
  show(signs, alive, string.format('%.0f', now) .. ' ' .. stamp)
  redis.call('pexpire', queue, queue_life())
end
if not held then
  local function tell(group, message)
    redis.call(publish, granted .. ':' .. group, message)
  end
  held, grant = pass(holder, token, queue, signs, tokenttl, tell, may_tell)
end
local rank, mine = -1, false
for i, waiter in ipairs(waiters) do
  if waiter == held then
    status[i], mine = 2, true
  elseif rank < 0 and status[i] == 1 then
    rank = redis.call('zrank', queue, waiter)
  end
end
if mine then
  raise(holder, tonumber(keep))
  mine = grant or present_token(token, tokenttl)
end
return {redis.call('pttl', holder), rank, mine, status}
