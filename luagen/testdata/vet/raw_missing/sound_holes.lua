-- A hole that is tested, or stands last.
local topic, id = unpack(ARGV)
if redis.call('exists', 'reserved' .. topic) == 0 then return {id, tonumber(redis.call('get', ARGV[3]))} end
return {1, tonumber(redis.call('zscore', 'reserved' .. topic, id)), 2}
