--- Grants permits to owner if enough are free, all of them or none, each with a lease. Otherwise it returns when the
--- next lease ends. Permits whose leases have ended become free. If there is no semaphore, and total is given, the
--- script creates one with total permits. An owner is never used again. Nothing is taken if the user lacks a permission
--- that this, or with asks the release, needs.
---
---@key permits string             free permits
---@key leases zset                id -> when its lease ends
---@key twin string                free permits of the semaphore that has the same leases; if there is none, of this semaphore
---@arg owner string               the ids of its permits, 16 bytes each
---@arg lease milliseconds
---@arg total int(1..2147483647)?  of a semaphore that it creates; nil: it creates none
---@command publish publish|spublish
---@channel released
---@arg asks bool         also check the permissions of the release
---@return bool taken
---@return int(-2147483648..4294967295) left   free permits, after the grant
---@return milliseconds wait       until the first lease ends, including the leases of this grant; -1 ms: none does
---@return int? other              the total of the semaphore, if the caller gives another
---@error NOTANUMBER the key holds no count of permits
---@error SHARED another semaphore has the same leases
---@error TOOMANY there are fewer permits
---@include permit_store.lua
local text = redis.call('get', permits)
local now = clock()
if not text and not total then
  return {0, 0, -1, false}
end
local free = count(text or total)
if not free then
  return redis.error_reply('NOTANUMBER the key holds no count of permits')
end
if not text and shared(twin) then
  return redis.error_reply('SHARED another semaphore has the same leases')
end
local ids = ids_of(owner)
local back = 0
if text then
  back = ended(leases, now)
end
local left = free + back
local other = false
if text and total then
  local all = left + redis.call('zcard', leases) - back
  other = all ~= tonumber(total) and all
end
local taken = left >= #ids
if taken then
  left = left - #ids
elseif #ids > math.max(1, tonumber(total or 0)) then -- One permit is no more than the total, if that is not 0.
  local all = left + (text and redis.call('zcard', leases) - back or 0)
  if all > 0 and #ids > all then
    return redis.error_reply('TOOMANY there are fewer permits')
  end
end
local life = taken and redis.call('pexpiretime', permits) or 0
if life > 0 then
  may('pexpireat', leases)
end
may('zrange', leases)
if taken then
  may('zadd', leases)
  if asks then
    may('zscore', leases)
    may('zrem', leases)
  end
  may(publish, released)
end
local function tell(n)
  redis.call(publish, released, n)
end
if not text then
  may('zcount', leases)
  may('zremrangebyscore', leases)
  may('set', permits)
  may('incrby', permits)
  if left > 0 then
    tell(string.format('%.0f', left))
  end
  redis.call('zremrangebyscore', leases, '-inf', '+inf')
  redis.call('set', permits, string.format('%.0f', left))
elseif back > 0 or taken then
  store(permits, leases, now, free, left, tell)
end
if taken then
  lend(leases, ids, now + lease)
  if life > 0 then
    redis.call('pexpireat', leases, life)
  end
end
local first = redis.call('zrange', leases, 0, 0, 'withscores')
local ends = tonumber(first[2])
if not ends or ends >= 922337203685477 then -- Redisson's score of a lease without an expiry.
  return {taken and 1 or 0, left, -1, other}
end
return {taken and 1 or 0, left, math.max(1, math.ceil(ends - now)), other}
