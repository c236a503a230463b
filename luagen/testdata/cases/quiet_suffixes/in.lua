--- Keys with suffixes, under a prefix that is declared.
---@key side string prefix
---@arg owner string
---@arg count int(1..1000)
---@arg lease milliseconds
local mine = side .. ':' .. owner .. ':holds:'
for i = 1, tonumber(count) do
  redis.call('set', mine .. i, 1, 'px', lease)
end
redis.call('del', side, mine .. (count + 1))
