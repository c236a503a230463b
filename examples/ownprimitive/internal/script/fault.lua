--- Reports what a failed command says of its key.
---
---@library

-- fault returns the status of a key for which a command has failed: -1 if the key is of another kind, else -2.
local function fault(failure)
  local text = tostring(type(failure) == 'table' and failure.err or failure)
  local strange = string.find(text, '^WRONGTYPE ') or string.find(text, '^%S*:%d+: WRONGTYPE ') -- by a script's line
  return strange and -1 or -2
end
