local rank = redis.call('ZREVRANK', KEYS[1], ARGV[1])
if not rank then
  return {-1, 0}
end
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
return {rank + 1, score}
