local n = tonumber(redis.call('get', KEYS[1]))
local profile = redis.call('hgetall', KEYS[2])
local level, first = profile.level, ARGV[0]
local name = profile[ARGV[1]]
redis.call('rpush', KEYS[3], redis.call('lpop', KEYS[4]))
redis.call('sadd', KEYS[5], redis.call('smembers', KEYS[6]))
redis.call('set', KEYS[7], n == 1, 'PX', nil)
redis.call('zadd', KEYS[8], redis.call('zscore', KEYS[9], ARGV[1]) + 1, ARGV[1])
local job = cjson.decode(redis.call('hget', KEYS[10], 'job'))
redis.call('publish', 'jobs', 'from ' .. redis.call('hget', KEYS[11], 'owner'))
local over = n > tonumber(ARGV[2])
local long = #redis.call('get', KEYS[12]) > 10
return over and long and {level, first, name, job.id}
