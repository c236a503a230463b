--- Returns a user's name and mail by HGETALL.
---@key user hash
---@return string name
---@return string? mail
---@error MISSING there is no such user
---@readonly
local flat = redis.call('HGETALL', user)
if #flat == 0 then
  return redis.error_reply('MISSING there is no such user')
end
local row = {}
for i = 1, #flat, 2 do
  row[flat[i]] = flat[i + 1]
end
return {row['name'] or '', row['mail'] or false}
