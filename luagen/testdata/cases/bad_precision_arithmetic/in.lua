---@key counter string
---@arg delta int
---@arg step int?
---@arg big int(0..9007199254740993)
---@arg all int...
---@return int old
local now = tonumber(redis.call('get', counter) or '0')
redis.call('set', counter, now + delta)
redis.call('incrby', counter, tonumber(delta))
local n = tonumber(delta)
if n > now then redis.call('setrange', counter, 0, -big) end
local alias = delta
if step then alias = step end
redis.call('set', counter, alias % 10)
redis.call('set', counter, math.max(1, all[1], 0))
for _, one in ipairs(all) do
  redis.call('set', counter, math.floor(one))
end
redis.call('set', counter, tonumber(delta) + 1)
local either = step or '1'
redis.call('set', counter, either * 2)
local other = either == '2' and '1' or delta
redis.call('set', counter, other * 2)
local total = tonumber(delta or step)
return total
