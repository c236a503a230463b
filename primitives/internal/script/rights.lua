--- Asks for rights before anything is written.
---
---@library

-- may raises an error if the server's user lacks the right to a command with its key or channel, or if the server
-- does not know the command. The first write after it is still refused where memory is short: to ask is none.
local function may(command, object)
  if not redis.acl_check_cmd(command, object) then
    error({err = 'NOPERM the user has no right to ' .. command .. ' ' .. object})
  end
end
