--- Checks permissions before the first write.
---
---@library

-- modern is for servers without redis.acl_check_cmd, such as miniredis, where nobody is asked. It raises an error on
-- Redis before 7.0, which does not know this command either, and would refuse others only after a write.
local function modern()
  redis.call('pexpiretime', KEYS[1]) ---@allow index it is a key of the script, whatever that is
end

-- may raises an error if the server's user lacks the permission for a command with its key or channel, or if the server
-- does not know the command. It is not a write itself: if the server is out of memory, the first write after it is
-- still refused.
local function may(command, object)
  local allows = redis.acl_check_cmd
  if not allows then
    modern()
  elseif not allows(command, object) then
    error({err = 'NOPERM the user may not ' .. command .. ' ' .. object})
  end
end

-- ask_lock raises an error if the user may not grant a lock, or with asks, release it.
local function ask_lock(lock, asks)
  may('hset', lock)
  may('pexpire', lock)
  if asks then
    may('hexists', lock)
    may('del', lock)
  end
end
