--- Distinguishes a lock's hash from another program's hash.
---
---@library

-- alien returns an error if a hash of size fields is neither a lock, whose one field is its owner, nor a read-write
-- lock, which has a mode. An owner, of this package or of Redisson, is a UUID and a number. A prefix of at most 64
-- characters and a dash may come before them: a longer text is not searched, which would take long.
local function alien(lock, size)
  local owner = size == 1 and redis.call('hgetall', lock)[1] or ''
  if #owner <= 122 and string.find(owner, '^[%w._-]*%x+%-%x+%-%x+%-%x+%-%x+:%-?%d+$') then
    return nil
  end
  local mode = redis.call('hget', lock, 'mode')
  if mode == 'read' or mode == 'write' then
    return nil
  end
  return redis.error_reply('OTHERKIND the key holds a hash that is no lock')
end
