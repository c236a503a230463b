---@key log string
---@arg json string
---@return string? first
local all, list, t = '', {}, {}
t[json .. ''] = json
for k, v in pairs(t) do
  all = all .. k .. '=' .. v .. ';'
end
for k in pairs({[json .. ''] = 1}) do
  table.insert(list, k)
end
local joined = table.concat(list, ',')
redis.call('set', log, all)
redis.call('append', log, joined)
for k, v in pairs({a = 1, b = 2}) do
  if v == 2 then return k end
end
