---@key log string
---@arg json string
---@return string? first
local all, list = '', {}
for k, v in pairs(cjson.decode(json)) do
  all = all .. k .. '=' .. v .. ';'
end
for k in pairs(cjson.decode(json)) do
  table.insert(list, k)
end
local joined = table.concat(list, ',')
redis.call('set', log, all)
redis.call('append', log, joined)
for k, v in pairs({a = 1, b = 2}) do
  if v == 2 then return k end
end
