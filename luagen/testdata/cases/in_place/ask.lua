--- Asks for rights.
---
---@library

-- may raises an error without a right. It is small: it stands in place of each call.
local function may(command, object)
  if not redis.acl_check_cmd(command, object) then
    error({err = 'NOPERM no ' .. command .. ' ' .. object})
  end
end

-- unused is left out.
local function unused(key)
  may('get', key)
end
