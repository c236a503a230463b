--- Revokes the holds of readers: puts one reader that no client has in their places, whose lease ends with the longest
--- of theirs, or with that of the readers that were revoked before. The lock's expiry, and other readers, do not change.
--- Programs find it like a reader that has crashed.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  the beginning of each reader's side key: side:owner:rwlock_timeout:1
---@arg owner string        the owner to revoke; empty: each reader
---@return milliseconds left  how long the hold stays at most; 0 ms: there is no such reader
---@include revoked.lua
---@include readers.lua
---@include rights.lua
---@include alien.lua
local fields = redis.call('hgetall', lock)
local strange = #fields > 0 and alien(lock, #fields / 2)
if strange then
  return strange
end
local left, revoked = 0, {}
for i = 1, #fields, 2 do
  local held = fields[i]
  local asked = owner == '' or held == owner or held == nobody()
  if asked and held ~= 'mode' and held:sub(-6) ~= ':write' then
    left = math.max(left, lease_of(side, held, fields[i + 1]))
    revoked[#revoked + 1] = held
  end
end
if left > 0 then
  may('hdel', lock)
  may('hset', lock)
  redis.call('set', side .. ':' .. nobody() .. ':rwlock_timeout:1', 1, 'px', left)
  for _, held in ipairs(revoked) do
    redis.call('hdel', lock, held)
  end
  redis.call('hset', lock, nobody(), 1)
end
return left
