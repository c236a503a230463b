--- Compares the kind of a key.
---
---@library

-- other returns an error if key exists and is not of the given kind.
local function other(key, kind)
  local found = redis.call('type', key).ok
  if found ~= 'none' and found ~= kind then
    return redis.error_reply('OTHERKIND the key holds a ' .. found)
  end
  return nil
end
