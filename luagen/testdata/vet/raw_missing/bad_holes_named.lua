-- The same with a key that no KEYS names.
local topic, id = unpack(ARGV)
return {1, tonumber(redis.call('zscore', 'reserved' .. topic, id)), 2}
