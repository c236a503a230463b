--- Locks for reading or writing.
---@key lock hash holds: int
---@arg mode read|write  how
---@arg unit sec.|ms-1|2:x
---@return int n
if mode == 'write' then
  return redis.call('hincrby', lock, 'holds', 1)
end
return redis.call('hset', lock, mode, unit)
