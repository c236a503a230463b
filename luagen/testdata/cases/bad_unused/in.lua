---@key lock any
---@arg owner string
---@include text.lua
local x, _ = 1, 2
local function f(a) return 1 end
local y
y = 2
for i = 1, 2 do redis.call('getdel', lock) end
