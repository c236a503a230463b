if redis.call('zscore', KEYS[1], ARGV[1]) then redis.call('zadd', KEYS[1], 'NX', ARGV[2], ARGV[1]) end
local found = redis.call('exists', KEYS[2])
if found == 1 then redis.call('setnx', KEYS[2], ARGV[3]) end
if redis.call('exists', KEYS[5]) == 0 then redis.call('set', KEYS[5], ARGV[3], 'XX') end
if not redis.call('get', KEYS[3]) then return redis.call('lpushx', KEYS[3], ARGV[4]) end
if redis.call('hexists', KEYS[4], ARGV[5]) == 0 then return 0 end
return redis.call('hsetnx', KEYS[4], ARGV[5], ARGV[6])
