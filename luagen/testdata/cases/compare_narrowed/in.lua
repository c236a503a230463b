--- What was text becomes a number on the way, in ways that are seen and that are not.
---@readonly
---@key counter string
---@arg limit int(1..100)?
---@return bool done
local n = redis.call('get', counter)
local function convert() n = tonumber(n) end
convert()
if n == 5 or n < 3 then return 0 end
local m = redis.call('get', counter)
for _ = 1, 2 do
  if m == 1 then return 0 end
  m = tonumber(m) or 0
end
local k = redis.call('get', counter)
while k ~= 3 do
  k = tonumber(k or 0) + 1
end
limit = nil ---@allow assign to see that it is not taken for what was declared
if limit == 5 then return 0 end
local x
if m then x = 1 else x = 'none' end
if x == 'none' or x == 1 then return 0 end
return 1
