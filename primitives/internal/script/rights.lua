--- Checks permissions before the first write.
---
---@library

-- may raises an error if the server's user lacks the permission for a command with its key or channel, or if the server
-- does not know the command. It is not a write itself: if the server is out of memory, the first write after it is
-- still refused.
local function may(command, object)
  if not redis.acl_check_cmd(command, object) then
    error({err = 'NOPERM the user may not ' .. command .. ' ' .. object})
  end
end
