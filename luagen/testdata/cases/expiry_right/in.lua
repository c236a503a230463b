--- Times that are whole, positive and of the right unit.
---
---@key lock string
---@arg lease milliseconds
---@arg wait seconds
---@arg at unixmilli
---@arg ttl int(0..60)
---@arg long milliseconds(1000..)
redis.call('pexpire', lock, math.ceil(lease * 0.5))
redis.call('expire', lock, math.ceil(lease / 1000))
redis.call('expire', lock, math.floor(long / 1000))
redis.call('expire', lock, math.max(ttl, 1))
if tonumber(ttl) > 0 then
  redis.call('expire', lock, ttl)
end
redis.call('pexpire', lock, wait * 1000 + lease)
redis.call('pexpireat', lock, at)
redis.call('expireat', lock, math.ceil(at / 1000))
local now = redis.call('time')
redis.call('pexpireat', lock, now[1] * 1000 + lease)
if now[1] * 1000 < tonumber(at) then
  redis.call('pexpire', lock, at - now[1] * 1000)
end
redis.call('expire', lock, ttl == '0' and 1 or ttl)
