-- Comparisons to be on the safe side.
local limit, have = tonumber(ARGV[1]), redis.call('get', KEYS[1])
if limit == nil or limit == 0 or limit == false then return 0 end
if have == nil or have == 0 or have == false or have == '0' then return {nil, nil} end
if have ~= 1 and have ~= '1' then return 2 end
return 1
