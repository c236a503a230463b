if redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2], 'XX') then return 1 end
for _, id in ipairs(redis.call('zrange', KEYS[2], 0, 9)) do redis.call('zadd', KEYS[2], 'NX', ARGV[3], id) end
if redis.call('zadd', KEYS[2], 'XX', ARGV[3], ARGV[1]) == 0 then return 0 end
local ok = redis.call('set', KEYS[3], ARGV[1], 'EX', 60)
if not ok then return 2 end
redis.call('set', KEYS[3], ARGV[1], ARGV[2], 'px')
redis.call('zadd', KEYS[2], ARGV[3], ARGV[1], 'NX')
return redis.call('zremrangebyrank', KEYS[2], '-inf', ARGV[3])
