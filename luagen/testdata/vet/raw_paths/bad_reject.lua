local k,cap,cost=KEYS[1],tonumber(ARGV[1]),tonumber(ARGV[2])
local d=redis.call('HMGET',k,'t','ts')
local t=tonumber(d[1]) or cap
if t<cost then
  redis.call('HSET',k,'t',t,'ts',ARGV[3])
  return 0
end
redis.call('HSET',k,'t',t-cost,'ts',ARGV[3])
redis.call('PEXPIRE',k,ARGV[4])
return 1
