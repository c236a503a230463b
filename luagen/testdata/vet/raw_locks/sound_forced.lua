-- KEYS[1]: lock
-- KEYS[2]: stale lock
redis.call('del', KEYS[2])
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return redis.call('del', KEYS[1]) end
if redis.call('set', KEYS[3], ARGV[1], 'NX', 'PX', 60000) then return 1 end
return 0
