local function size(key) return redis.call('hlen', key) end
local level = size(KEYS[1])
local left = tonumber(ARGV[1]) - level
if left < 0 then left = 0 end
