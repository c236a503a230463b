-- A hole that is tested, or stands last.
local topic, id = unpack(ARGV)
if redis.call('exists', KEYS[1]) == 0 then return {id, tonumber(redis.call('hget', KEYS[2], 'n'))} end
return {1, tonumber(redis.call('zscore', KEYS[1], id)), 2}
