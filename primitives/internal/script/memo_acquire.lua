--- Grants the lock of a memo's key like lock_acquire, and stores who runs and the fingerprint, unless a result is kept. It
--- also fails if the user may not store a result: otherwise each caller would run, and none could store.
---
---@key lock hash         owner -> hold count
---@key token string      the last token granted, decimal
---@key holder string     in lines: the owner, the time of its grant in microseconds, its host, its process, memo, the fingerprint
---@key record hash       owner, fingerprint, and the result if it is kept
---@arg owner string
---@arg lease milliseconds
---@arg tokenttl milliseconds?  nil: the token key does not expire
---@arg description string  of the holder: its lines after the time
---@arg fingerprint string
---@command publish publish|spublish
---@channel released       of the release, and of the store
---@arg asks bool         also check the permissions of the release
---@return int answer      as of lock_acquire; 0: there is a record, or the run has another fingerprint
---@return string? result  that is kept
---@return bool other      whether the fingerprint of the record, or of the run, is another
---@include token.lua
---@include alien.lua
local kept = redis.call('hmget', record, 'fingerprint', 'result')
if kept[1] then
  local other = kept[1] ~= fingerprint
  return {0, not other and kept[2], other}
end
local size = redis.call('hlen', lock)
if size > 0 then
  local strange = alien(lock, size)
  if strange then
    return strange
  end
  local by, print = string.match(redis.call('get', holder) or '', '^([^\n]*)\n%d+\n[^\n]*\n%d*\nmemo\n(.*)$')
  -- A lock of the same name has no fingerprint, and may follow a run that it has not outlived.
  if by and print ~= fingerprint and redis.call('hexists', lock, by) == 1 then
    return {0, false, true}
  end
  return {-2 - redis.call('pttl', lock), false, false}
end
ask_lock(lock, asks)
may('set', holder)
may('hset', record)
may(publish, released)
local time = redis.call('time')
local grant = token_at(time, token, tokenttl)
redis.call('hset', lock, owner, 1)
redis.call('pexpire', lock, lease) ---@allow refused the user may
local since = time[1] .. string.format('%06d', time[2])
redis.call('set', holder, owner .. '\n' .. since .. '\n' .. description, 'px', lease)
return {grant, false, false}
