local score = redis.call('zscore', KEYS[1], ARGV[1])
if not score then redis.call('zadd', KEYS[1], 'NX', ARGV[2], ARGV[1]) else redis.call('zadd', KEYS[1], 'XX', ARGV[2], ARGV[1]) end
if redis.call('exists', KEYS[2]) == 1 then
  redis.call('zadd', KEYS[2], 'NX', ARGV[2], ARGV[1])
  redis.call('del', KEYS[2])
  redis.call('setnx', KEYS[2], ARGV[3])
end
local made = redis.call('get', KEYS[3])
redis.call('append', KEYS[3], ARGV[4])
if not made then redis.call('set', KEYS[3], ARGV[5], 'XX') end
local function fill() redis.call('set', KEYS[4], ARGV[6]) end
if redis.call('exists', KEYS[4]) == 0 then
  fill()
  redis.call('set', KEYS[4], ARGV[5], 'XX')
end
if redis.call('exists', KEYS[5]) == 0 then
  for i = 1, 2 do
    redis.call('rpushx', KEYS[5], i)
    redis.call('rpush', KEYS[5], i)
  end
end
if redis.call('exists', KEYS[6]) == 0 then
  redis.call('BF.ADD', KEYS[6], ARGV[6])
  redis.call('set', KEYS[6], ARGV[5], 'XX')
end
