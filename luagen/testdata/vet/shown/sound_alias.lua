---@key q list
---@key side list prefix
---@arg v string
---@arg names string...
if v == q then
  redis.call('del', v)
end
for _, name in ipairs(names) do
  if name ~= q and name ~= side .. ':1' then
    return redis.error_reply('OTHER not ours')
  elseif q == name then
    redis.call('del', name)
  end
end
