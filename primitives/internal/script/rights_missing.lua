--- Returns which permissions the server's user lacks. It asks for each key with each allowed command.
---
---@key object any        a key of the object that the user may use
---@arg permissions string...   +command, then ~key and &channel
---@return int[] missing  the places in permissions
---@error UNKNOWN the server cannot be asked
---@readonly

-- allowed reports whether the user has the permission for a command with its arguments. It is true if the server does
-- not know the command, which no permission changes.
local function allowed(...)
  local known, granted = pcall(redis.acl_check_cmd, ...)
  return not known or granted
end

if permissions[1] and not redis.acl_check_cmd then
  return redis.error_reply('UNKNOWN the server lacks redis.acl_check_cmd')
end
local on = {['~'] = {}, ['&'] = {}} -- the allowed commands
local missing = {}
for i, permission in ipairs(permissions) do
  local sort, name = string.match(permission, '^(.)(.*)$')
  local granted = true
  if sort ~= '+' then
    for _, command in ipairs(on[sort]) do
      granted = granted and allowed(command, name)
    end
  elseif string.find(name, 'publish$') or string.find(name, 'subscribe$') then
    granted = allowed(name)
    table.insert(granted and on['&'] or {}, name)
  elseif string.find(name, '|') then
    granted = allowed(string.match(name, '^(.*)|(.*)$'))
  elseif string.find(name, '^eval') then
    granted = allowed(name, object, '0') -- Without a number of keys, servers read beyond the arguments.
  else
    granted = allowed(name, object) -- Without a key, too, they read beyond the arguments.
    table.insert(granted and on['~'] or {}, name)
  end
  if not granted then
    missing[#missing + 1] = i
  end
end
return missing
