--- Finds the owner that holds a lock.
---
---@library
---@include alien.lua

-- owner_of returns the field of the owner that holds a lock, or false, and an error if another program has the hash.
-- Of a read-write lock it is the field of the writer, or of one of the readers if there is no writer.
local function owner_of(lock)
  local fields, owner = redis.call('hgetall', lock), false
  local strange = #fields > 0 and alien(lock, #fields / 2)
  for i = 1, #fields, 2 do
    if not owner and fields[i] ~= 'mode' or fields[i]:sub(-6) == ':write' then
      owner = fields[i]
    end
  end
  return owner, strange
end
