---@key lock string
---@key side string prefix
---@key list list
---@arg n int(0..9)
local call = n == '1' and redis.call or redis.pcall
call('set', lock, n)
local again = redis.call
if n == '2' then
  again = redis.pcall
end
again('set', side .. ':1', n)
local insert = table.insert
local function add(t, k)
  t[#t + 1] = k
end
local keys = {lock}
local other = keys
add(keys, side .. ':2')
insert(other, side .. ':3')
rawset(keys, 4, lock)
local sum, pull = 0, {}
for i, name in ipairs(keys) do
  add(pull, name)
  sum = sum + i
end
redis.call('del', unpack(pull))
redis.call('sort', list, 'by', 'nosort', 'get', '#')
local r = redis
return r.call('set', lock, sum)
