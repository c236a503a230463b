--- A count that goes down is of a key that is there.
---@key lock hash
---@key latch string
---@arg owner string
---@arg lease milliseconds
---@return bool done
if redis.call('hincrby', lock, owner, -1) > 0 then
  redis.call('set', latch, 0, 'px', 1000)
  redis.call('pexpire', lock, lease)
  return 0
end
redis.call('del', lock)
return 1
