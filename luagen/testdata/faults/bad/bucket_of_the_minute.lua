local minute = math.floor(tonumber(ARGV[2]) / 60)
local bucket = ARGV[1] .. ':' .. minute
local n = redis.call('INCR', bucket)
redis.call('EXPIRE', bucket, 120)
return n
