redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[1])
redis.call('zadd', KEYS[1], ARGV[1] + ARGV[2], ARGV[3])
redis.call('zremrangebyrank', KEYS[2], ARGV[4], -1)
local cursor, found = '0', {}
repeat
  local page = redis.call('sscan', KEYS[3], cursor)
  cursor, found = page[1], page[2]
until cursor == '0'
return {redis.call('zrange', KEYS[2], 0, 9), redis.call('sscan', KEYS[4], ARGV[5]), found}
