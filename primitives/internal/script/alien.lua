--- Distinguishes a lock's hash from another program's hash.
---
---@library

-- alien returns an error if a hash of size fields is neither a lock, whose one field is its owner, nor a read-write
-- lock, which has a mode. An owner, of this package or of Redisson, is a UUID and a number.
local function alien(lock, size)
  local owner = size == 1 and redis.call('hgetall', lock)[1] or ''
  if string.find(owner, '^%x+%-%x+%-%x+%-%x+%-%x+:%-?%d+$') then
    return nil
  end
  local mode = redis.call('hget', lock, 'mode')
  if mode == 'read' or mode == 'write' then
    return nil
  end
  return redis.error_reply('OTHERKIND the key holds a hash that is no lock')
end
