---@key lock string
---@arg lease milliseconds
---@arg wait seconds
---@arg at unixmilli
redis.call('pexpire', lock, wait)
redis.call('expire', lock, lease)
redis.call('expireat', lock, at)
redis.call('pexpire', lock, at)
redis.call('set', lock, 1, 'ex', lease)
redis.call('set', lock, 1, 'pxat', lease)
redis.call('pexpire', lock, math.max(lease, 5) / 1000)
local now = redis.call('time')[1]
if tonumber(now) > tonumber(at) then
  redis.call('pexpireat', lock, now + wait)
end
redis.call('pexpireat', lock, now * 1000 + wait)
