--- The queue of a mutex: a zset of the waiters, by the number that each waiter got when it came, which is the
--- server's time in microseconds, or more. A hash has each waiter's last heartbeat, as "arrival stamp": the time
--- of its arrival, in milliseconds, and the number of the sending. Without a heartbeat, the waiter's number is its
--- arrival, and the stamp is 0. An owner is "group:number", and its group "client.wait": a heartbeat counts for wait
--- milliseconds.
---
---@library
---@include token.lua

-- millis returns a time of the server in milliseconds.
local function millis(time)
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- queue_life is how long a queue lasts after its last heartbeat or newcomer.
local function queue_life()
  return 60000
end

-- worth returns how long the last heartbeat of a waiter still counts, and its stamp. It returns nothing if the waiter
-- has expired, which it does after two thirds of wait. If the clock is set back, heartbeats do not get older.
local function worth(waiter, number, sign, now)
  local wait = tonumber(string.match(waiter, '%.(%d+):%d+$') or 0)
  local arrival, stamp = string.match(sign or '', '^(%d+) (%d+)$')
  local age = math.max(0, now - tonumber(arrival or math.floor(number / 1000)))
  if 3 * age < 2 * wait then
    return wait - age, stamp or '0'
  end
  return nil
end

-- survey returns the first waiter that has not expired, as a table, or nil; the expired waiters before it; and
-- whether there may be more waiters behind these: it looks at a thousand at most.
local function survey(queue, signs, now)
  local dead, size = {}, 1
  while #dead < 1000 do
    local found = redis.call('zrange', queue, #dead, #dead + size - 1, 'withscores')
    if #found == 0 then
      return nil, dead, false
    end
    local waiters = {}
    for i = 1, #found, 2 do
      waiters[#waiters + 1] = found[i]
    end
    local last = redis.call('hmget', signs, unpack(waiters))
    for i, waiter in ipairs(waiters) do
      local number = tonumber(found[2 * i])
      local lasts, stamp = worth(waiter, number, last[i], now)
      if lasts then
        return {owner = waiter, number = number, lasts = lasts, stamp = stamp}, dead, false
      end
      dead[#dead + 1] = waiter
    end
    size = 100
  end
  return nil, dead, true
end

-- ask raises an error if the user lacks a permission for a grant to a waiter, or for the removal of waiters. may_tell
-- checks the permission for the channel of a group.
local function ask(holder, queue, signs, first, may_tell)
  may('set', holder)
  may('del', holder)
  may('zremrangebyrank', queue)
  may('hdel', signs)
  if first then
    may_tell(string.match(first.owner, '^(.*):'))
  end
end

-- ask_place raises an error if the user lacks a permission that a place in the queue needs.
local function ask_place(queue, signs)
  may('zadd', queue)
  may('pexpire', queue)
  may('hset', signs)
  may('hdel', signs)
end

-- drop removes the first waiters, whose names it gets, from the queue.
local function drop(queue, signs, waiters)
  if #waiters > 0 then
    redis.call('zremrangebyrank', queue, 0, #waiters - 1)
  end
  for i = 1, #waiters, 100 do
    redis.call('hdel', signs, unpack(waiters, i, math.min(i + 99, #waiters)))
  end
end

-- show stores a heartbeat of waiters, at most a hundred.
local function show(signs, waiters, sign)
  local fields = {}
  for _, waiter in ipairs(waiters) do
    fields[#fields + 1] = waiter
    fields[#fields + 1] = sign
  end
  local made = redis.call('pexpire', signs, queue_life()) == 0
  redis.call('hset', signs, unpack(fields))
  if made then
    redis.call('pexpire', signs, queue_life())
  end
end

-- raise makes a hold last for lease, unless it lasts longer: a late request must not shorten it. It always writes, and
-- needs no memory for that: after it, a server that is out of memory takes other writes of the script, too.
local function raise(holder, lease)
  redis.call('pexpire', holder, math.max(lease, redis.call('pttl', holder)))
end

-- pass_to grants the mutex to a waiter that survey has found, removes the expired waiters before it, and sends the
-- waiter a message. The caller has checked the permissions. The hold ends when the waiter's heartbeat expires.
local function pass_to(first, dead, holder, token, queue, signs, tokenttl, time, tell)
  redis.call('zremrangebyrank', queue, 1, 0) -- It removes nothing: after it, a server without memory takes the token, too.
  local grant = token_at(time, token, tokenttl)
  tell(string.match(first.owner, '^(.*):'), first.owner .. ' ' .. grant .. ' ' .. first.stamp)
  dead[#dead + 1] = first.owner
  drop(queue, signs, dead)
  redis.call('set', holder, first.owner, 'px', first.lasts)
  return grant
end

-- pass grants the mutex to the first waiter that has not expired, and returns that waiter and its token. If there is
-- none, it frees the mutex, and returns nothing, and whether there may be more waiters behind the removed waiters.
local function pass(holder, token, queue, signs, tokenttl, tell, may_tell)
  local time = redis.call('time')
  local first, dead, more = survey(queue, signs, millis(time))
  if first or #dead > 0 then
    ask(holder, queue, signs, first, may_tell)
  end
  if first then
    return first.owner, pass_to(first, dead, holder, token, queue, signs, tokenttl, time, tell), false
  end
  drop(queue, signs, dead)
  redis.call('del', holder)
  return nil, nil, more
end
