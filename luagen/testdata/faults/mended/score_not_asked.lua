local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if #oldest > 0 then
  return tonumber(oldest[2]) + tonumber(ARGV[1])
end
return 0
