--- Classifies the owners that hold nothing, and the errors of failed commands.
---
---@library

-- fault returns the status of an owner: 0 after a reply of nothing, -1 if a command failed because the key is of another
-- kind, -2 if it failed for another reason.
local function fault(reply)
  if not reply or reply == 0 then
    return 0
  end
  local text = tostring(type(reply) == 'table' and reply.err or reply)
  local strange = string.find(text, '^WRONGTYPE ') or string.find(text, '^%S*:%d+: WRONGTYPE ') -- by a script's line
  return strange and -1 or -2
end
