-- The same, right.
local n = redis.call('incr', KEYS[1])
if n == tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
local limit = tonumber(ARGV[3])
if n > limit then return 0 end
if ARGV[4] ~= '1' or ARGV[5] == nil or not ARGV[6] then return 0 end
local first = ARGV[7] + 1
if first > 10 then return 0 end
if redis.call('get', KEYS[1]) == '1' then return 0 end
if tonumber(redis.call('get', KEYS[1])) == tonumber(ARGV[1]) then return 0 end
return {1, false, first, unpack(ARGV)}
